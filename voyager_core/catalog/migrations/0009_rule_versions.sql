-- Which versions every number was read with, which spans a rule dropped something in, and what
-- was decided about rules.

set local lock_timeout = '5s';
set local statement_timeout = '10min';

-- The number of the built-in rule set that this one was made from; null: recorded by hand.
alter table ruleset add column built_in integer;

create table rule_retraction (
    rule text primary key,
    retracted_at timestamptz not null default now(),
    note text not null default ''
);

-- From `low` up to the next row's (or the resume point) a range was read with these.
create table range_version (
    range_id integer not null references range,
    low bigint not null,
    parser_version integer not null,
    rules_version integer not null,
    codec_version integer not null,
    primary key (range_id, low)
);

-- Spans in which rules dropped something: what to read again when a rule changes. What is
-- missing from the catalog of a span is what the rule sets of all `versions` drop.
create table span_drop (
    span_drop_id bigint generated always as identity primary key,
    range_id integer not null references range,
    low bigint not null,
    high bigint not null,
    parser_version integer not null,
    versions integer[] not null,
    -- The removed newsgroup that the lines had been left to; empty: all lines of the span.
    owner text not null default '',
    stored_at timestamptz not null default now()
);

create index span_drop_range on span_drop (range_id, low);

create table span_rule_count (
    span_drop_id bigint not null references span_drop,
    range_id integer not null references range,
    -- The last of the span's versions.
    rules_version integer not null,
    rule text not null,
    signature text not null default '',
    owner_group text not null default '',
    articles bigint not null,
    files bigint not null,
    primary key (span_drop_id, rule, signature, owner_group)
);

create index span_rule_count_rule on span_rule_count (rule, rules_version, range_id);

insert into range_version (range_id, low, parser_version, rules_version, codec_version)
select range_id, low, parser_version, rules_version, codec_version
  from range where rules_version is not null;

insert into span_drop (range_id, low, high, parser_version, versions)
select r.range_id, r.low, r.resume_at - 1, r.parser_version,
       r.rules_version || coalesce((
           select array_agg(distinct y.version order by y.version) from range_recovery y
            where y.range_id = r.range_id and y.version > r.rules_version), '{}')
  from range r
 where r.resume_at > r.low and r.rules_version is not null
   and exists (select from range_rule_count c where c.range_id = r.range_id and c.articles > 0);

insert into span_rule_count
    (span_drop_id, range_id, rules_version, rule, signature, owner_group, articles, files)
select s.span_drop_id, s.range_id, s.versions[cardinality(s.versions)], c.rule, c.signature,
       c.owner_group, c.articles, c.files
  from span_drop s join range_rule_count c using (range_id);
