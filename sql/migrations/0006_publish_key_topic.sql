/*
 * No reference to the topic: checking it locked the topic's row for each publish under a key, and two at once made a
 * MultiXact. Keys go with their topic, and who stores one has seen it alive under the lock of a log.
 */
alter table gapless.publish_key drop constraint publish_key_topic_id_fkey;
