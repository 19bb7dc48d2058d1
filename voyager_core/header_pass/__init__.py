"""From overview lines to releases: parsing, identity, rules, fragments, candidates, replay."""
