"""The slow twin of the engine: what every overview line and every file must come out as.

Plain Python, written for reading: no speed, no cleverness, whole texts and lists. Where the
engine finds an answer by a short cut, this goes the long way. `tests/properties` holds both
against each other on real lines, on the subject battery and on mutations of them.
"""
