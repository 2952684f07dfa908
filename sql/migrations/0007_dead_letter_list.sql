/*
 * For gapless.list_dead_letters: a page of a group's letters walked those of all groups, or sorted all of its own.
 */
create index dead_letter_list on gapless.dead_letter (subscription_id, dead_letter_id);
