//! Counts the work of reading a page or a list of pages, in debug builds only: tests check that it grows linearly
//! with the size of the input. A step is a byte, an element, an entry or a link that a loop visits.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Adds steps of this thread. Does nothing in a release build.
#[inline(always)]
pub fn add(steps: usize) {
    if cfg!(debug_assertions) {
        STEPS.set(STEPS.get() + steps as u64);
    }
}

/// [`memchr::memchr`], with one step for each byte that it passes.
#[inline(always)]
pub fn memchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    passed(memchr::memchr(byte, bytes), bytes)
}

/// [`memchr::memchr2`], with one step for each byte that it passes.
#[inline(always)]
pub(crate) fn memchr2(one: u8, other: u8, bytes: &[u8]) -> Option<usize> {
    passed(memchr::memchr2(one, other, bytes), bytes)
}

/// A position that a search in `items` found, with one step for each item up to it.
#[inline(always)]
pub fn passed<T>(found: Option<usize>, items: &[T]) -> Option<usize> {
    add(found.map_or(items.len(), |at| at + 1));
    found
}

/// Number of steps of this thread since the last call; always 0 in a release build. For tests.
pub fn take() -> u64 {
    STEPS.take()
}
