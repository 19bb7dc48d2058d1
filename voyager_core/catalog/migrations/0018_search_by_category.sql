-- The index of words begins with what is compared at little cost: an intersection ends where the weeks
-- end that are asked for, even when no release has all words. It holds categories as well (a
-- number and its main category), so that words of other categories are not read.

set local lock_timeout = '5s';
set local statement_timeout = '240min';

-- Storing spans waits while it is built, and is tried again; searches go on with the old one.
-- Five million releases take a minute.
-- squawk-ignore require-concurrent-index-creation
create index release_place_tok on release using gin (
    (array[
        -1 - season::bigint,
        season::bigint * 2147483648 + episode,
        -1099511627776
            - greatest(0, (posted_at at time zone 'utc')::date - date '1970-01-01') / 7,
        -2199023255552
            - greatest(0, (posted_at at time zone 'utc')::date - date '1970-01-01') / 56,
        -3298534883328
            - greatest(0, (posted_at at time zone 'utc')::date - date '1970-01-01') / 448,
        -4398046511104 - category::bigint,
        -4398046511104 - category / 1000 * 1000::bigint
    ]),
    tok
) with (fastupdate = on, gin_pending_list_limit = 16384);

-- Double episodes and packs of several seasons, which are few: with their words in an index of
-- their own, not all of a season are read for one title.
-- squawk-ignore require-concurrent-index-creation
create index release_range_tok on release using gin (tok)
    with (fastupdate = on, gin_pending_list_limit = 1024)
    where season_last > season or episode_last > episode;

-- At the very end: it locks searches out.
-- squawk-ignore require-concurrent-index-deletion
drop index release_tok;
-- squawk-ignore renaming-object
alter index release_place_tok rename to release_tok;
