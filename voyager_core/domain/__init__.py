"""Rules of the trade without I/O: ranges, groups, rules, releases. The time is an argument."""
