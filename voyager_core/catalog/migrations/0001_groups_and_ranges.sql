-- Newsgroups, the ledger of ranges, and what was counted while ranges were read.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

-- Choices that a catalog is built on; they are stored once and never change.
create table setting (
    name text primary key,
    value text not null,
    stored_at timestamptz not null default now()
);

create table ruleset (
    version integer primary key,
    digest text not null,
    content jsonb not null,
    recorded_at timestamptz not null default now()
);

-- The newsgroups that are, or were, indexed. The lowest priority number owns a crosspost.
create table newsgroup (
    newsgroup_id integer generated always as identity primary key,
    name text not null unique,
    priority integer not null unique,
    active boolean not null default true,
    state text not null default 'new' check (state in ('new', 'ok', 'gone', 'removed')),
    low bigint,
    high bigint,
    added_at timestamptz not null default now(),
    checked_at timestamptz,
    note text
);

-- Every newsgroup name that any Xref mentioned; releases refer to it by number.
create table group_name (
    group_name_id integer generated always as identity primary key,
    name text not null unique
);

create table range (
    range_id integer generated always as identity primary key,
    newsgroup_id integer not null references newsgroup,
    low bigint not null,
    high bigint not null,
    -- The next article number to index; everything from `low` up to it is stored.
    resume_at bigint not null,
    state text not null default 'planned'
        check (state in ('planned', 'partial', 'done', 'parked')),
    capture boolean not null default false,
    attempts integer not null default 0,
    error text,
    lines bigint not null default 0,
    rejected bigint not null default 0,
    dropped bigint not null default 0,
    chunked_segments bigint not null default 0,
    fragment_segments bigint not null default 0,
    merged_segments bigint not null default 0,
    recovered_segments bigint not null default 0,
    posted_from timestamptz,
    posted_to timestamptz,
    parser_version integer,
    rules_version integer,
    codec_version integer,
    planned_at timestamptz not null default now(),
    stored_at timestamptz,
    done_at timestamptz,
    unique (newsgroup_id, low),
    check (low >= 1 and high >= low),
    check (resume_at between low and high + 1)
);

create index range_open on range (newsgroup_id, low) where state <> 'done';

-- What each rule dropped in a range: the ranges to read again when the rule changes.
create table range_rule_count (
    range_id integer not null references range,
    rule text not null,
    signature text not null default '',
    owner_group text not null default '',
    articles bigint not null,
    files bigint not null,
    primary key (range_id, rule, signature, owner_group)
);

create index range_rule_count_rule on range_rule_count (rule, range_id);

-- A rule's recovery of a range, done at most once for each version of the rule set.
create table range_recovery (
    range_id integer not null references range,
    rule text not null,
    version integer not null,
    articles bigint not null,
    files bigint not null,
    stored_at timestamptz not null default now(),
    primary key (range_id, rule, version)
);

-- Overview lines that are in no file, by the parser's reason.
create table reject_count (
    range_id integer not null references range,
    reason text not null,
    articles bigint not null,
    primary key (range_id, reason)
);

create table rule_sample (
    rule_sample_id bigint generated always as identity primary key,
    range_id integer not null references range,
    rule text not null,
    release_key bigint,
    detail jsonb not null,
    stored_at timestamptz not null default now()
);

create index rule_sample_rule on rule_sample (rule, range_id);
