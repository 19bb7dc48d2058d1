-- What a name states beside season, episode and year, read once when a release is stored.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

alter table release
    -- Height of the picture in lines.
    add column resolution smallint,
    add column source text,
    -- Languages, joined by a comma and a blank.
    add column language text,
    -- The group that released it.
    add column team text;
