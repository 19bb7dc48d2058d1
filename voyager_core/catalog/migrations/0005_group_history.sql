-- How much of a group's history is wanted, and groups whose numbers began again.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

alter table newsgroup
    -- At most one of the two; neither: what VOYAGER_CATALOG__BACKFILL_DAYS says.
    add column backfill_days integer,
    add column backfill_since timestamptz,
    -- The article number from which history is wanted, and the setting that it was found for.
    add column wanted_from bigint,
    add column wanted_for text,
    add column removed_at timestamptz;

-- What it guarantees is guaranteed by the next one. Both apply to rows as they change.
-- squawk-ignore ban-drop-constraint
alter table newsgroup drop constraint newsgroup_state_check;
alter table newsgroup add constraint newsgroup_state_check
    check (state in ('new', 'ok', 'gone', 'restarted', 'removed')) not valid;
alter table newsgroup add constraint newsgroup_backfill_days_check
    check (backfill_days between 0 and 100000) not valid;

-- Crossposts that were left to another group, for the day when that group is removed.
-- squawk-ignore require-concurrent-index-creation
create index reject_count_crosspost on reject_count (reason, range_id)
    where reason like 'crosspost:%';
