//! The pages of a file in order, by the tree that they are in; without one, as they lie in the file.

use std::collections::HashSet;
use std::rc::Rc;

use foldhash::fast::FixedState;

use super::file::File;
use super::object::{Dictionary, Object};

/// A page, with the resources that it has or inherits.
pub(super) struct TreePage<'f> {
    pub(super) dictionary: Dictionary<'f>,
    pub(super) resources: Rc<Object<'f>>,
}

/// Pages above pages that are looked at for resources when there is no way down the tree.
const MOST_PARENTS: usize = 16;

/// The dictionary that everything hangs on.
pub(super) fn catalog<'f>(file: &'f File<'f>) -> Dictionary<'f> {
    let named = file.root.map(|number| file.dictionary(&Object::Reference(number)));
    if let Some(catalog) = named.filter(|catalog| *catalog.get(b"Pages") != Object::Null) {
        return catalog;
    }
    let all = file.numbers();
    let mut dictionaries = all.iter().rev().map(|number| file.dictionary(&Object::Reference(*number)));
    dictionaries.find(|dictionary| dictionary.is_type(b"Catalog")).unwrap_or_default()
}

/// The pages, one after the other.
pub(super) fn pages<'f>(file: &'f File<'f>, catalog: &Dictionary<'f>) -> Pages<'f> {
    let nothing = Rc::new(Object::Null);
    let open = catalog.get(b"Pages").reference().map(|root| (root, nothing)).into_iter().collect();
    Pages {
        file,
        open,
        visited: HashSet::default(),
        is_damaged: catalog.get(b"Pages").reference().is_none(),
        strays: None,
    }
}

/// A walk over the tree of pages, which goes to no place twice.
pub(super) struct Pages<'f> {
    file: &'f File<'f>,
    /// Still to be visited, the next one last, with what is inherited.
    open: Vec<(u32, Rc<Object<'f>>)>,
    visited: HashSet<u32, FixedState>,
    /// A part of the tree is missing.
    is_damaged: bool,
    /// All objects, to look for pages that the tree did not lead to.
    strays: Option<std::vec::IntoIter<u32>>,
}

impl<'f> Iterator for Pages<'f> {
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
            let dictionary = self.file.dictionary(&Object::Reference(number));
            let resources = match dictionary.get(b"Resources") {
                Object::Null => inherited,
                resources => Rc::new(resources.clone()),
            };
            match self.file.resolve(dictionary.get(b"Kids")) {
                Object::Array(kids) => {
                    let kids = kids.iter().rev().filter_map(Object::reference);
                    self.open.extend(kids.map(|kid| (kid, resources.clone())));
                }
                _ => return Some(TreePage { dictionary, resources }),
            }
        }
        if self.is_damaged { self.next_stray() } else { None }
    }
}

impl<'f> Pages<'f> {
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
            let dictionary = file.dictionary(&Object::Reference(number));
            if dictionary.is_type(b"Page") {
                let resources = Rc::new(inherited_resources(file, &dictionary));
                return Some(TreePage { dictionary, resources });
            }
        }
        None
    }
}

fn inherited_resources<'f>(file: &'f File<'f>, page: &Dictionary<'f>) -> Object<'f> {
    let mut dictionary = page.clone();
    for _ in 0..MOST_PARENTS {
        let resources = dictionary.get(b"Resources");
        if *resources != Object::Null {
            return resources.clone();
        }
        dictionary = file.dictionary(dictionary.get(b"Parent"));
    }
    Object::Null
}
