//! Every way of coding segments makes the same bits.

use super::*;
use crate::chunk::alphabet::ALPHABETS;
use crate::chunk::checked::Checked;
use crate::chunk::plan::Planner;
use crate::chunk::survey::Look;
use crate::chunk::wide::NARROW;
use proptest::prelude::*;

#[derive(Default)]
struct Collect(Vec<(Vec<u8>, i64)>, Vec<u8>);

impl Sink for Collect {
    fn push(&mut self, bytes: &[u8]) {
        self.1.extend_from_slice(bytes);
    }

    fn end(&mut self, size: i64) {
        self.0.push((std::mem::take(&mut self.1), size));
    }
}

fn put(family: &Family, sizes: &Column, rows: &[Segment<'_>]) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let mut writer = BitWriter::default();
    writer.put(5, 3);
    Coder::by_rows(family, sizes, &mut scratch)
        .put(rows, &mut scratch, &mut writer)
        .expect("the ids are of the family");
    writer.finish().to_vec()
}

fn put_checked(family: &Family, sizes: &Column, rows: &[Segment<'_>]) -> Option<Vec<u8>> {
    let mut scratch = Scratch::new();
    let mut writer = BitWriter::default();
    writer.put(5, 3);
    Checked::new(family, sizes, &mut scratch)?
        .put(rows, &mut scratch, &mut writer)
        .expect("the ids are of the family");
    Some(writer.finish().to_vec())
}

fn take(
    family: &Family,
    sizes: &Column,
    parts: &[u32],
    families: usize,
    bytes: &[u8],
) -> Vec<(Vec<u8>, i64)> {
    let mut scratch = Scratch::new();
    let mut reader = BitReader::new(bytes);
    assert_eq!(reader.take(3), Ok(5));
    let mut collect = Collect::default();
    Coder::new(family, sizes, parts.len(), families, &mut scratch)
        .take(parts, &mut scratch, &mut reader, &mut collect)
        .expect("the bits are segments");
    collect.0
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    /// Column by column, compiled for any or for this processor, and row by row: the bits are the same.
    #[test]
    fn every_way_makes_and_reads_the_same_bits(
        alphabets in prop::collection::vec((0usize..ALPHABETS.len() - 1, 1usize..14), 1..6),
        numbers in any::<bool>(),
        seeds in prop::collection::vec(any::<[u8; 32]>(), 6..60),
        base in 1u32..2_000_000,
    ) {
        let ids: Vec<Vec<u8>> = seeds
            .iter()
            .enumerate()
            .map(|(row, seed)| {
                let mut seed = seed.iter().cycle();
                let mut id = Vec::new();
                for (alphabet, len) in &alphabets {
                    let symbols = ALPHABETS[*alphabet];
                    id.extend((0..*len).map(|_| symbols[usize::from(*seed.next().unwrap_or(&0)) % symbols.len()]));
                    id.push(b'.');
                }
                if numbers {
                    id.extend(format!("{:013}", 1_400_000_000_000 + row * 977 + usize::from(id[0])).into_bytes());
                }
                id.push(b'@');
                id
            })
            .collect();
        let rows: Vec<Segment<'_>> = (base..)
            .zip(&ids)
            .map(|(part, id)| Segment { part, size: base + part * 31 % 700, id })
            .collect();
        let parts: Vec<u32> = rows.iter().map(|row| row.part).collect();
        let mut planner = Planner::default();
        planner.look = Look::Exact;
        let Some(family) = planner.family(&rows) else {
            return Ok(());
        };
        let values: Vec<i64> = rows.iter().map(|row| i64::from(row.size)).collect();
        let (sizes, _) = Column::plan(&values, None, &mut Vec::new());
        let wanted: Vec<(Vec<u8>, i64)> = rows
            .iter()
            .map(|row| (row.id.to_vec(), i64::from(row.size)))
            .collect();
        let by_rows = put(&family, &sizes, &rows);
        for narrow in [false, true] {
            NARROW.set(narrow);
            if let Some(checked) = put_checked(&family, &sizes, &rows) {
                prop_assert_eq!(&checked, &by_rows);
            }
            let taken = take(&family, &sizes, &parts, 1, &by_rows);
            // Listed sizes are put in by whoever reads them.
            prop_assert!(taken.iter().zip(&wanted).all(|(left, right)| left.0 == right.0));
            prop_assert_eq!(&taken, &take(&family, &sizes, &parts, 99, &by_rows));
        }
        NARROW.set(false);
    }
}
