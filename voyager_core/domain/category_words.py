"""The words by which a release name shows what it is: one table of features, as data.

Names are compared in a plain form: lower case, and one blank for every other character than
`a-z` and `0-9`. In the lists `_` is a blank, `~` a blank or nothing, and `#` at the end says
that a digit follows. A word may stand under several features.
"""

_MONTHS = (
    "jan(?:uary|uari?|vier)?|enero|feb(?:ruary|ruari?|rero)?|fevrier|mar(?:ch|s|zo)?|m.?rz|maerz|maart"
    "|apr(?:il)?|avril|abril|may|mai|mei|mayo|june?|juni|juin|junio|july?|juli|juillet|julio"
    "|aug(?:ust|ustus)?|ao.?t|agosto|sept?(?:ember|embre|iembre)?|oct(?:ober|obre|ubre)?|oktober"
    "|nov(?:ember|embre|iembre)?|dec(?:ember|embre)?|dezember|diciembre"
)
_RATES = "".join(f" {kind}{rate}" for kind in ("", "cbr", "vbr") for rate in (128, 192, 256, 320))

FEATURES: dict[str, str] = {
    # Pictures.
    "codec": """
        x~263 x~264 x~265 x~266 h~263 h~264 h~265 h~266 avc hevc xvid divx av1 mpeg~2 vc~1 wmv wmv9
        nvenc 10bit hi10p
    """,
    "resolution": " ".join(
        f"{height}{scan}{rate}"
        for height in (360, 480, 540, 576, 720, 1080, 1440, 2160, 4320)
        for scan in "pi"
        for rate in ("", 50, 60)
    )
    + " 4k uhd 848x480 704x396 704x400 720x480 640x480 640x360 852x480 1280x720"
    " 1920x1080 3840x2160",
    "source": """
        blu~ray bdrip brrip b~rip bdremux mbluray bd25 bd50 bd5 bd9 bdmv hddvd hd_dvd dvd dvdr
        dvd~rip dvd5
        dvd9 2dvd5 2dvd9 dvdr5 dvdr9 dvdscr dvd~screener screener web web~dl web~rip web~mux web~hd
        dlmux hdtv hdtv~rip pdtv
        dsr dsrip tvrip tv~rip satrip sat~rip dvb dvbrip dtv hdrip hd~rip hdcam hd~cam camrip cam
        telesync telecine hdts hd~ts hdtc vhsrip vhs ppv r5 remux ddc webcap
    """,
    "broadcast": "hdtv pdtv dsr dsrip tvrip tv~rip satrip dvb dvbrip dtv 1080i hdtvrip sdtv",
    "uhd": "2160p 2160i 2160p50 2160p60 uhd 4k 4320p 3840x2160",
    "hd": " ".join(
        f"{height}{scan}{rate}"
        for height in (720, 1080, 1440)
        for scan in "pi"
        for rate in ("", 50, 60)
    )
    + " 1280x720 1920x1080 nhd",
    "hd_source": "blu~ray mbluray web~dl web~rip web~mux",
    "sd": """
        360p 480p 480i 540p 540i 576p 576i xvid divx 848x480 704x396 704x400 640x480 640x360 852x480
    """,
    "xvid": "xvid divx",
    "film_sound": """
        ac3 eac3 dd~5_1 dd5 dd2 dd7 ddp5 ddp2 ddp7 truehd atmos dts~hd dts~x dts_ma 5_1_ac3
        ld_german md_german mic_dubbed dubbed dublado doublage
    """,
    "subtitles": """
        nlsubs nl_subs nlsub ingebakken multisubs multisub subbed subs esubs esub vostfr subfrench
        hebsubs dksubs swesub swesubs nordicsubs finsub plsub softsub hardsub engsub engsubs
        untertitel sous_titres subtitulado legendado
    """,
    "dvd": """
        dvdr dvd_r dvd5 dvd9 2dvd5 2dvd9 dvdr5 dvdr9 ntsc_dvd pal_dvd ntscdvd paldvd dvdfull
        full_dvd
    """,
    "stereo": """
        3d h~sbs hsbs half~ou half~sbs h~ou hou f~sbs full~sbs half_overunder topbot anaglyph
    """,
    "stereo_layout": "h~sbs half~ou half~sbs h~ou topbot",
    "disc": """
        complete_blu~ray complete_uhd_blu~ray bd25 bd50 bd66 bd100 bdmv full_blu~ray blu~ray_full
        complete_mbluray
    """,
    # What the picture is of.
    "xxx": """
        xxx onlyfans siterip brazzers naughtyamerica realitykings bangbros manyvids imageset
    """,
    "images": "imageset imagesets image~set image~sets jpg jpeg pics picset",
    "pack": "pack siterip megapack collection",
    "wmv": "wmv wmv9",
    "mp4": "mp4",
    "anime": """
        anime subsplease horriblesubs erai_raws judas_ ova ovas oad engdub engsubbed
        dual_audio_anime
        bd_1280x720 bd_1920x1080 jpdub hi10p
    """,
    "documentary": """
        docu doc documentary documentaries dokumentation doku documentaire documentario docuseries
        national~geographic natgeo discovery_channel bbc_horizon
    """,
    "sport": """
        nhl nba wnba nfl mlb mls ufc wwe aew wwf tna njpw bellator motogp moto2 moto3 nascar indycar
        indy_car formula~1 formula~2 formula~3 formula~4 formula~e f1 wrc wtcc dtm superbike
        superbikes epl premier~league la~liga bundesliga eredivisie serie_a ligue_1 champions~league
        europa_league uefa fifa atp wta wimbledon roland~garros us_open_tennis pga nrl afl
        super~rugby six_nations olympics olympic tour~de~france giro_d~italia vuelta grand_prix
        super~bowl superbowl world_cup boxing world_series_of_fighting lpga ncaa euroleague
        stanley_cup ryder_cup snooker darts cricket
    """,
    "television": "tv~show episode_# ep_# folge_# aflevering_# mini~series tvshow",
    "season_words": """
        complete_series complete_season seasons season_# staffel_# seizoen_# saison_# temporada_#
    """,
    "concert": """
        mbluray mdvd mdvdr concert unplugged live_in live_at live_from music~video musicvideo
    """,
    # Books.
    "comic": """
        cbr cbz cb7 cbt c2c comic comics comix manga manhwa digital_zone zone_empire digital_empire
        variant_cover variant_covers covers_only cover_only 2nd_printing minutemen glorith
        gdcp panini marvel_now sketch_variant scandog graphic_novel
    """,
    "digital": "digital",
    "audiobook": """
        audio~book audio~books unabridged unabr abridged m4b horbuch h_rbuch hoerbuch hoerspiel
        h_rspiel horspiel luisterboek audiolibro livre_audio audible
    """,
    "ebook": """
        epub mobi azw azw3 azw4 ebook ebooks e_book e_books fb2 djvu lit_ebook retail_epub true_epub
        kindle
    """,
    "pdf": "pdf",
    "magazine": """
        magazine magazines magazin weekly monthly newspaper revista zeitschrift tijdschrift
        maandblad
        gazette daily_mail the_guardian new_york_times courier issue_# issues_# ausgabe_# heft_#
        numero_# nummer_#
    """,
    "technical": """
        1st_edition 2nd_edition 3rd_edition second_edition third_edition fourth_edition
        first_edition
        programming handbook textbook o~reilly oreilly apress packt wrox springer wiley engineering
        statistics mathematics manning no_starch for_dummies dummies cookbook_python tutorial
        addison_wesley cambridge oxford elsevier mcgraw routledge algorithms physics chemistry
        python javascript essentials_of introduction_to principles_of fundamentals
    """
    + " ".join(f"{number}th_edition" for number in range(4, 31)),
    # Sound.
    "lossless": """
        flac flac16 flac24 webflac ape alac lossless 24~bit 16bit_flac wavpack wav aiff wv dsd64
        dsd128 dsf dff
        sacd tta 24_96 24_192 24_44 24_48 16_44 flacs
    """,
    "sound": f"""
        mp3 mp3s v0 v2_mp3 vbr discography discographie discografia m4a ogg aac_lc wma 320kbps
        320_kbps
        128k 160k 192k 256k 320k 96k 64k kbps 192kbps 256kbps 128kbps{_RATES}
    """,
    "album": """
        ost soundtrack single~charts top_100 top_40 top_50 greatest_hits deluxe_edition
        remastered discography 1cd 2cd 3cd 4cd 5cd 6cd 2lp cd_1 cd_2 cd1 cd2 cd_01 cd_02
        vinyl lp mixtape bootleg singles anthology best_of megamix dj_mix album promo_cd
        studio_collection produced_by
        maxi cdm cds cdr cdep albums songs compilation symphony orchestra sonata
    """,
    "podcast": "podcast podcasts radio_show radioshow radio_1 bbc_radio",
    # Programs.
    "android": "android apk",
    "ios": "iphone ipad ipod ios ipa",
    "mac": "mac~os mac_os_x macosx osx os_x dmg macos mas",
    "mobile": "symbian s60 s60v3 s60v5 pocketpc windows_mobile blackberry wp7 wp8",
    "game": """
        fitgirl dodi_repack gog r_g_mechanics elamigos steam~rip multi5 multi6 multi7 multi9 multi10
        multi11 multi12
        goty dlc update_v# crackfix nodvd no_dvd repack_game incl_dlc early_access
    """,
    "iso": "iso",
    "software": """
        keygen key_gen keymaker crack cracked patch patched serial serials x64 x86 win winall
        windows
        win32 win64 multilingual multilanguage portable linux incl regged retail_v setup activator
        plugin vst vsti vst3 keyfilemaker keyfile cracktro adobe autodesk photoshop
        ubuntu debian fedora unix amd64 i386
    """,
    "executable": "exe msi appimage deb rpm jar",
    # Consoles.
    "ps4": "ps4",
    "ps3": "ps3",
    "vita": "psv ps~vita psvita vita",
    "psp": "psp",
    "xbox360": "x360 xbox360 xbox_360 xbla",
    "xbox_one": "xboxone xbox_one xb1 xbox_series xsx xboxsx",
    "wii_u": "wii~u",
    "wiiware": "wiiware",
    "wii": "wii",
    "3ds": "3ds",
    "nds": "nds nintendo_ds",
    "xbox": "xbox",
    "console": """
        nsw nintendo_switch switch_nsp switch_xci nsp xci ps5 ps2 psx ps1 gba gbc ngc n64 dreamcast
        gamecube snes sega_saturn
    """,
}

VIDEO = ("codec", "resolution", "source", "stereo_layout", "video_file")
"""Features that show a picture."""

# On the whole name in lower case, separators as they are; the engine knows no look-around.
SHAPES: dict[str, str] = {
    "bracketed": r"^\[",
    "video_file": r"\.(?:mkv|mp4|avi|m4v|mov|mpe?g|ts|m2ts|wmv|vob|ogm|webm|divx)$",
    "numbered_picture": r"[ ._]-[ ._]\d{2,4}(?:v\d)?[ ._]?\[(?:480|720|1080)p\]",
    "music_video": r"-(?:dvdrip-)?[xh]26[45]-(?:19|20)\d\d-[a-z0-9]+$",
}
"""Forms that matter whatever words a name has."""

BRACKET_SHAPES: dict[str, str] = {
    "fansub": r"^\[[^\]]{2,40}\].*[ ._]-[ ._]?\d{1,4}(?:v\d)?[ ._]*(?:[\[(]|\.[a-z0-9]{3}$|$)"
    r"|^\[[^\]]{2,40}\] ?\[[^\]]{2,60}\] ?\[\d{1,4}(?:v\d|集|话|話)?\]",
    "crc": r"^\[.*[\[(][0-9a-f]{8}[\])]",
}
"""Forms that are asked of names that begin with a bracket only."""

PLAIN_SHAPES: dict[str, str] = {
    "music_scene": r"-[(\[]?(?:\d{0,2}cd|\d?cd[sm]|cdr|cdep|web|webflac|vinyl|vls|\d?lp|ep|sat"
    r"|cable|dab|fm|bootleg|tape|cassette|digital|promo|retail|mixtape|dvda|12inch|7inch|line|dvbs|stream)"
    r"[a-z0-9]*[)\]]?-(?:.*-)?(?:\d\d-\d\d-)?(?:19|20)\d\d(?:-|$)",
    "music_plain": r"^[^-]{2,60}-[^-]{2,80}-(?:[^-]{2,20}-)?(?:19|20)\d\d"
    r"(?:-[a-z0-9]{2,12}(?:[ _.-]int)?)?$",
    "artist_title_year": r"^[^()\[\]]{2,60} - [^()\[\]]{2,80}[(\[](?:19|20)\d\d[)\]]",
    "title_year": r"^[^()\[\]/\\]{2,80}[ ._]\((?:19|20)\d\d\)[ ._-]*$",
    "various": r"^va[ ._]?-|^va_",
    "audio_file": r"\.(?:mp3|ogg|m4a|aac|wma|opus)$",
    "lossless_file": r"\.(?:wav|aiff?|flac|ape|wv)$",
    "sound_rate": r"[(\[ ](?:96|128|160|192|224|256|320)(?:[ ._-]?k(?:bps|b/s)?)?[)\] ]?$",
    "version": r"(?:^|[^a-z0-9])v\d{1,4}(?:\.\d+)+[a-z]?(?:[^a-z0-9]|$)"
    r"|(?:^|[^a-z0-9])v\d{1,3}[ ._]\d+(?:[^a-z0-9]|$)",
    "numbered_digital": r"(?:^|[^0-9])\d{2,3}(?:[^0-9].*)?[(. _]digital"
    r"|(?:^|[^a-z0-9])v\d{1,3}[^a-z0-9].*[(. _]digital",
    "part_of": r"(?:^|[^a-z0-9])(?:0?\d|[1-9]\d)[ ._]\(?(?:of|von)[ ._](?:\d{1,2})(?:[^a-z0-9]|$)",
    "month_year": rf"(?:^|[^a-z])(?:{_MONTHS})[ ._,-]{{0,3}}"
    r"(?:\d\d?[ ._,-]{1,2})?(?:19|20)\d\d(?:[^0-9]|$)",
    "day": r"(?:19|20)\d\d[ ._-]\d\d[ ._-]\d\d",
}
"""Forms that are asked of names without a codec and a resolution only."""

GAME_GROUP_NAMES = """
    3dm ali213 anadius backlash bat chronos codex cpy darksiders delight0 deviance dinobytes dodi
    doge elamigos fairlight fasiso fitgirl flt genesis goldberg hi2u hoodlum i_know inlaws jaguar
    kaos myth outlaws plaza postmortem procyon prophet razor1911 razordox reloaded rune rviteam sid
    simplex skidrow steampunks tenoke tenoke_ theta tinyiso unleashed unleashed_ venom_pc vitality
"""
"""Groups after the last hyphen that release games for the PC."""

GROUP_HINTS: tuple[tuple[str, int], ...] = (
    ("lossless|flac", 3040),
    ("audiobook", 3030),
    (r"sounds?\b|\bmp3|music", 3010),
    ("xbox-?360", 1050),
    ("xbox", 1040),
    (r"\bps3|playstation3", 1080),
    (r"\bpsp\b", 1020),
    ("wii-?u", 1130),
    (r"\bwii\b", 1030),
    ("nintendo-?ds|3ds", 1010),
    (r"console|\bps2\b|playstation|gamecube|dreamcast|emulators", 1090),
    (r"e-?books?", 7020),
    ("comics|manga", 7030),
    ("magazines?", 7010),
    ("anime", 5070),
    (r"erotica|\bsex|xxx|porn", 6070),
    (r"teevee|tvseries|tvshows|multimedia\.tv|\btv\b|hdtv|series", 5050),
    (r"moovee|movies?|dvd|x264|\bhdtv\b|film", 2020),
    (r"games|\bgame", 4050),
    (r"\bmac\b", 4030),
    (r"warez|0-?day|apps|software", 4010),
)
"""What the newsgroup says, the first that fits; asked only of a name that says nothing."""
