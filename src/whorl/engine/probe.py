"""Probe text that reveals how an analysis breaks and folds words, for engines that do not use whorl's own tokens."""

from __future__ import annotations

#: Distinguishes the word-break profiles (a colon between letters, a letter that is new in Unicode 15 and another from
#: 16), and rejects analyses that break or fold differently, remove markup, stop words or long words, or stem words.
PROBE = (
    "one:two \U00011f04\U00011f05 three \U00010d4e\U00010d4f, (Don't) 3.14 x_y Straße ﬁne 中文 – naïve; "
    "The houses of John's churches are running <b>out</b> of R&amp;D, wi-fi; l'été et des eaux, der Hund und die "
    f"Häuser, los niños que, и не только, 日本語の文 {'long' * 80} 1,000 e-mail@example.org a_b?c=d end."
)
