//! Segments of files as they go into records and come out of them.

/// One article of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Part number.
    pub part: u32,
    /// Size of the article in bytes as the overview gives it; 0 when unknown.
    pub size: u32,
    /// Message-id without angle brackets, 1 to 255 bytes.
    pub id: &'a [u8],
}

/// Segments in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    pub(super) parts: Vec<u32>,
    pub(super) sizes: Vec<u32>,
    pub(super) ids: Vec<u8>,
    pub(super) ends: Vec<usize>,
}

impl Segments {
    /// Number of segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no segment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The segment at `index`.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> Segment<'_> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Segment {
            part: self.parts[index],
            size: self.sizes[index],
            id: &self.ids[start..self.ends[index]],
        }
    }

    /// All segments in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Segment<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Appends a segment.
    pub fn push(&mut self, segment: Segment<'_>) {
        self.parts.push(segment.part);
        self.sizes.push(segment.size);
        self.ids.extend_from_slice(segment.id);
        self.ends.push(self.ids.len());
    }

    /// Takes all segments out and keeps the memory.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.sizes.clear();
        self.ids.clear();
        self.ends.clear();
    }
}
