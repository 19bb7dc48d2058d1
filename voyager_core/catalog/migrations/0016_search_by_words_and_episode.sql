-- The search that Sonarr asks all day, words of a show with a season and an episode, is answered
-- by one index: the entries of words and of episodes are intersected before a release is read.

set local lock_timeout = '5s';
set local statement_timeout = '240min';

-- Storing spans waits while it is built, and is tried again; searches go on with the old one.
-- squawk-ignore require-concurrent-index-creation
create index release_tok_place on release using gin (
    tok, (array[-1 - season::bigint, season::bigint * 2147483648 + episode])
) with (fastupdate = on, gin_pending_list_limit = 16384);

-- At the very end: it locks searches out.
-- squawk-ignore require-concurrent-index-deletion
drop index release_tok;
-- squawk-ignore renaming-object
alter index release_tok_place rename to release_tok;
