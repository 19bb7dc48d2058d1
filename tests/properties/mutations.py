"""Overview lines to mangle, and how: what servers, posters and wires do to them."""

from hypothesis import strategies as st

_SUBJECTS = [
    '[075/111] - "Some.Show.S01E01.1080p.WEB.mkv" yEnc (1/500)',
    'Release.Name [64/65] - "Release.Name.vol31+32.par2" yEnc (2/65) 46101356',
    '[10764]-[FULL]-[#a.b.teevee@EFNet]-[ Show.Name.S01E10 ]-[03/25] - "grp.r00" yEnc (1/12)',
    'cbc - rmr - s6e07 - (30/36) - "081118.report.s6e07.mp3.vol00+01.PAR2" yEnc (1/12)',
    '(05/10) "HolzWerken_40.part4.rar" - 741,51 kB - yEnc (3/9)',
    '[02/11] - "Some.Show.S01E18.part1.rar" yEnc(1/144)',
    '"file.r00" yEnc (3/9) - 15728640 bytes',
    '63258-0[001/101] - "63258-2.0" yEnc (1/250) (1/250)',
    '[PRiVATE]-[WtFnZb]-[setup_app_-1.bin]-[1/10] - "" yEnc  4288754174 (1/8377)',
    '[PRiVATE]-[WtFnZb]-[24]-[12/filename.ext] - "" yEnc (2/12345)',
    '[N3wZ] _mC3___[PRiVATE]-[EnCrYpTnZb]-[[Sub].Name.[64032D13].mkv]-[1_1] - "" yEnc 14 (1/2)',
    '[003/120] [03/140] "name.r03" - yEnc',
    '[PRiVATE]-[WtFnZb]-[1/series/name.mkv]-[3/9] - "" yEnc (1/8)',
    '[PRiVATE]-[WtFnZb]-[/Folder.One-WtF[nZb]/0a1b2c]-[2/2] - "" yEnc (1/8)',
    '(name.with.words.rar) [3|7] "" (1/3)',
    "Datei 3|12 name with a .wmv yEnc (4/9)",
    "[PRiVATE]-[WtFnZb]-[219]-[1/series.mkv] -  yEnc (1/[PRiVATE] \\c2b\\::686::/97bd/) 1 (1/0)",
    "Singer - A Album (2005) - [04/25] - 02 Sweetest Somebody (I Know).flac (3/40)",
    "[010/108] - [SubsPlease] Title - 02 (1080p) [6E8E8065].mkv yEnc (1/2014) 1443366873",
    "Title - File 05 of 12 - name.part04.rar yEnc (50/200)",
    '<<< Title >>> [05 of 12] "name.part04.rar" yEnc (50/200)',
    'Datei 5 von 12 - "name.part04.rar" yEnc (50/200)',
    '"name.part04.rar" (5 of 12) yEnc (50/200)',
    "Great Movie 2024 5 of 42 yEnc",
    'Docu [2009/2010] Collectors Edition - "disc1.rar" yEnc (1/50)',
    '[1/445] - "e17a881978b12c92" yEnc (1/445)',
    '[12/240] - "kq83hd82hd.bin" yEnc (12/240)',
    '"name.nfo" yEnc (0/0)',
    '"name.part1.rar" yEnc (0/37)',
    '[00/80] - "name.nzb" yEnc (1/1)',
    '"name.rar" yEnc (12/3)',
    "name.vol127+128.par2 (1/0)",
    "ZxZzCeWW8ECJExG13i891fyVBUCommbINJNQNqdTam9KYctnYSWQI7Q1JXWeOPwA",
    '9842b7f07ed502f959f29f0507dbbd14[03/51] - "c1c3dba5b7dba5d931ac12bc0b330654.10" yEnc (1/42)',
    '"Jinsi_12187_v807.par2" [01/13] - The Elite Team Presents yEnc (1/1)',
    'Subject-KrzpfTest [02/30] - ""KrzpfTest.part.nzb"" yEnc (1/1)',
    'Of Montreal - Aureate Gloom (2015) "05 - Virgilian Lots.mp3\u201d yEnc (4/19)',
    "&#34;name.par2&#34; yEnc (1/2) &amp; &uuml;",
    "=?UTF-8?Q?Na=C3=AFve_=5B1/2=5D_=22na=C3=AFve.rar=22_yEnc_=281/3=29?=",
    'Re: Re: [2/9] "name.rar" yEnc (1/3)',
    'yEnc. "name.rar" yEnc. (1/1)',
    '"name.rar" yEnc -- READ NFO! (2/7)',
    '[1/3] "name.rar" yEnc [2/7]',
    "image (3/12) pic003.jpg [1/1]",
    "Name|part (3|12)",
    '"S01E01" - "Show.part01.rar" yEnc (1/9)',
    '"name.rar" yEnc (5/50) (4.2 GB)',
    '"Usenet Index Post 1389796935 yEnc (01/01)"',
    "Some Book Without Counter.epub",
]
_POSTERS = ["Yenc@power-post.org (Yenc-PP-A&A)", "a <a@b.c>", "<a@b.c>", "", "J\u00f6rg <x@y.z>"]
_DATES = [
    "Sun, 25 Sep 2022 03:03:36 GMT",
    "Fri, 17 Apr 20 05:57:26 UTC",
    "15 Aug 2008 04:00:08 GMT",
    "Sat, 18 Mar 2006 05:29:36 -0600",
    "mercredi, 23 jul 2014 20:01:02 -0600",
    "",
]
_IDS = ["part1of201.gdBsOLiW6ktktveIiYr0@powerpost2000AA.local", "{n}@x.y", "a$b{n}@z"]
_XREFS = ["Xref: e alt.binaries.test:{n}", "Xref: e alt.binaries.test:{n} alt.binaries.misc:7", ""]

LINES = [
    "\t".join(
        [
            str(5_000_000_000 + n),
            subject,
            _POSTERS[n % len(_POSTERS)],
            _DATES[n % len(_DATES)],
            f"<{_IDS[n % len(_IDS)].format(n=n)}>",
            "",
            str(700_000 + n),
            "" if n % 3 else "5700",
            _XREFS[n % len(_XREFS)].format(n=5_000_000_000 + n),
        ]
    ).encode("latin-1" if n % 2 and subject.isascii() else "utf-8")
    + b"\r\n"
    for n, subject in enumerate(_SUBJECTS)
]
"""One line of every kind of the subject battery."""

_MARKS = [
    *(b"\t", b"\r\n", b"\n", b"\r", b"\0", b" ", b'"', b'""', b"(", b")", b"[", b"]", b"/", b"|"),
    *(b"<", b">", b"(1/2)", b"[3/9]", b" of ", b"yEnc", b" yEnc ", b"..", b".", b"_", b"=?", b"?="),
    *(
        b"&quot;",
        b"\xfc",
        b"\xc3\xbc",
        b"\xe2\x80\x9c",
        b"0",
        b"9",
        b"99999999999",
        b".rar",
        b".par2",
    ),
    *(b"Re: ", b"-", b"\xff", b"\x93", b"1,45 GB", b"{", b"}", b"part7of9.x"),
]


@st.composite
def mangled(draw, lines):
    """A few lines with bytes cut, doubled, swapped, replaced and put in."""
    chosen = draw(st.lists(st.sampled_from(lines), min_size=1, max_size=4))
    text = bytearray(b"".join(chosen))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 6))
        piece = bytes(text[at : at + length])
        kind = draw(st.sampled_from(["drop", "double", "swap", "mark", "byte"]))
        if kind == "drop":
            del text[at : at + length]
        elif kind == "double":
            text[at:at] = piece
        elif kind == "swap":
            other = draw(st.integers(0, len(text)))
            text[at : at + length] = text[other : other + length]
        elif kind == "mark":
            text[at:at] = draw(st.sampled_from(_MARKS))
        else:
            text[at : at + length] = draw(st.binary(max_size=3))
    return bytes(text)
