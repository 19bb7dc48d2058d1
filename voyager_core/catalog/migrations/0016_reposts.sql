-- Which key stands for what was posted again under which: a hash does not tell.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

create table repost (
    release_key bigint primary key,
    first_key bigint not null,
    -- Which post it is, in the order of posting; the first post itself would be 0.
    number integer not null check (number > 0)
);
