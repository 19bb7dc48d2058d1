"""What makes stretches stale in Dagster."""

import voyager_native
from voyager_assets.assets.stages import CHUNKS, CODE_VERSIONS
from voyager_core.domain.versions import CHUNKS_AS_GOOD_SINCE


def test_a_codec_that_only_makes_chunks_smaller_makes_none_stale():
    assert CHUNKS_AS_GOOD_SINCE < voyager_native.CODEC_VERSION
    assert CODE_VERSIONS[CHUNKS].endswith(f"codec {CHUNKS_AS_GOOD_SINCE}")
