/*
 * The sessions of one actor without a key, who is known by a token of somebody else's, newest last.
 */
create index api_key_session_name on gapless.api_key (name, key_id) where kind = 'session' and parent_id is null;
