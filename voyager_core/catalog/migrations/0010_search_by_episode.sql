-- A search by season and episode without words must not walk the feed.

set local lock_timeout = '5s';
set local statement_timeout = '60min';

-- Storing spans waits while they are built, and is tried again; a catalog of 115 million releases
-- takes some minutes.
-- squawk-ignore require-concurrent-index-creation
create index release_episode on release (season, episode, feed_at, release_id)
    where season is not null;

-- Double episodes and packs of several seasons, which are few.
-- squawk-ignore require-concurrent-index-creation
create index release_episode_range on release (season, season_last, episode, episode_last)
    where season_last > season or episode_last > episode;

-- squawk-ignore require-concurrent-index-creation
create index release_aired on release (aired_on, feed_at, release_id) where aired_on is not null;
