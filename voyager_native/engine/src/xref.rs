//! Crossposts: which indexed newsgroup owns an article.

/// The newsgroup that files an article.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The newsgroup that is being indexed.
    Own,
    /// Another indexed newsgroup: its index in the list given to [`Owners::new`].
    Other(usize),
}

/// Decides the owner of articles of one newsgroup.
#[derive(Debug)]
pub struct Owners {
    own: Vec<u8>,
    groups: Vec<(Vec<u8>, u32)>,
}

impl Owners {
    /// `own` is the newsgroup that is being indexed; `groups` all indexed newsgroups with their priority numbers.
    ///
    /// The lowest number owns; equal numbers go to the name that sorts first. An `own` that is not in `groups` owns everything.
    #[must_use]
    pub fn new(own: &str, groups: &[(String, u32)]) -> Self {
        Self {
            own: own.into(),
            groups: groups
                .iter()
                .map(|(n, p)| (n.clone().into_bytes(), *p))
                .collect(),
        }
    }

    /// The owner of an article by its Xref field (with or without label); `own` always counts as listed.
    pub fn owner(&mut self, xref: &[u8]) -> Owner {
        let own = self.groups.iter().find(|g| g.0 == self.own);
        let Some(own) = own else { return Owner::Own };
        let mut best = (own.1, own.0.as_slice(), Owner::Own);
        for name in group_names(xref) {
            if let Some(i) = self.groups.iter().position(|g| g.0 == name) {
                let g = &self.groups[i];
                if (g.1, g.0.as_slice()) < (best.0, best.1) {
                    best = (g.1, &g.0, Owner::Other(i));
                }
            }
        }
        best.2
    }
}

/// The newsgroup names of an Xref field, in its order.
pub fn group_names(xref: &[u8]) -> impl Iterator<Item = &[u8]> {
    xref.split(|byte| *byte == b' ')
        .filter_map(|word| {
            word.iter()
                .position(|byte| *byte == b':')
                .map(|colon| &word[..colon])
        })
        .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"xref"))
}
