//! The pages of a file in the order of the page tree; without a tree, in file order.

use std::collections::HashSet;
use std::rc::Rc;

use foldhash::fast::FixedState;

use super::file::File;
use super::object::{Dictionary, PdfObject};

/// A page, with its own or inherited resources.
pub(super) struct TreePage<'f> {
    pub(super) dictionary: Dictionary<'f>,
    pub(super) resources: Rc<PdfObject<'f>>,
}

/// Maximum number of ancestors that are searched for resources if the tree cannot be walked.
const MOST_PARENTS: usize = 16;

/// The document catalog.
pub(super) fn catalog<'f>(file: &'f File<'f>) -> Dictionary<'f> {
    let named = file.root.map(|number| file.dictionary(&PdfObject::Reference(number)));
    if let Some(catalog) = named.filter(|catalog| *catalog.get(b"Pages") != PdfObject::Null) {
        return catalog;
    }
    let all = file.numbers();
    let mut dictionaries = all.iter().rev().map(|number| file.dictionary(&PdfObject::Reference(*number)));
    dictionaries.find(|dictionary| dictionary.is_type(b"Catalog")).unwrap_or_default()
}

/// Iterates over the pages.
pub(super) fn pages<'f>(file: &'f File<'f>, catalog: &Dictionary<'f>) -> PageTreeWalk<'f> {
    let nothing = Rc::new(PdfObject::Null);
    let open = catalog.get(b"Pages").reference().map(|root| (root, nothing)).into_iter().collect();
    PageTreeWalk {
        file,
        open,
        visited: HashSet::default(),
        is_damaged: catalog.get(b"Pages").reference().is_none(),
        strays: None,
    }
}

/// A walk over the page tree, which visits no node twice.
pub(super) struct PageTreeWalk<'f> {
    file: &'f File<'f>,
    /// Nodes to visit, the next one last, with inherited resources.
    open: Vec<(u32, Rc<PdfObject<'f>>)>,
    visited: HashSet<u32, FixedState>,
    /// Whether a part of the tree is missing.
    is_damaged: bool,
    /// All objects, to find pages that the tree did not lead to.
    strays: Option<std::vec::IntoIter<u32>>,
}

impl<'f> Iterator for PageTreeWalk<'f> {
    type Item = TreePage<'f>;

    fn next(&mut self) -> Option<TreePage<'f>> {
        while let Some((number, inherited)) = self.open.pop() {
            if self.file.budget.is_spent() {
                return None;
            }
            if !self.visited.insert(number) {
                continue;
            }
            self.is_damaged |= !self.file.has(number);
            let dictionary = self.file.dictionary(&PdfObject::Reference(number));
            let resources = match dictionary.get(b"Resources") {
                PdfObject::Null => inherited,
                resources => Rc::new(resources.clone()),
            };
            match self.file.resolve(dictionary.get(b"Kids")) {
                PdfObject::Array(kids) => {
                    let kids = kids.iter().rev().filter_map(PdfObject::reference);
                    self.open.extend(kids.map(|kid| (kid, resources.clone())));
                }
                _ => return Some(TreePage { dictionary, resources }),
            }
        }
        if self.is_damaged { self.next_stray() } else { None }
    }
}

impl<'f> PageTreeWalk<'f> {
    fn next_stray(&mut self) -> Option<TreePage<'f>> {
        let file = self.file;
        let strays = self.strays.get_or_insert_with(|| file.numbers().into_iter());
        for number in strays.by_ref() {
            if file.budget.is_spent() {
                return None;
            }
            if self.visited.contains(&number) {
                continue;
            }
            let dictionary = file.dictionary(&PdfObject::Reference(number));
            if dictionary.is_type(b"Page") {
                let resources = Rc::new(inherited_resources(file, &dictionary));
                return Some(TreePage { dictionary, resources });
            }
        }
        None
    }
}

fn inherited_resources<'f>(file: &'f File<'f>, page: &Dictionary<'f>) -> PdfObject<'f> {
    let mut dictionary = page.clone();
    for _ in 0..MOST_PARENTS {
        let resources = dictionary.get(b"Resources");
        if *resources != PdfObject::Null {
            return resources.clone();
        }
        dictionary = file.dictionary(dictionary.get(b"Parent"));
    }
    PdfObject::Null
}
