-- When some articles of a newsgroup were posted: article numbers of different groups are compared by
-- date, so that the history is indexed from the oldest era on.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

create table group_date (
    newsgroup_id integer not null references newsgroup,
    number bigint not null,
    posted_at timestamptz not null,
    primary key (newsgroup_id, number)
);
