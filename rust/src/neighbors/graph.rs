//! The neighborhoods of all points, and the graph that they form.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use branches::prefetch_read_data;
use rayon::prelude::*;
use zerocopy::FromZeros;

use super::inverse;
use crate::csr::{Csr, check_indptr, pieces, row_pointer};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::union_find::UnionFind;

/// Points that one thread handles at a time.
const CHUNK: usize = 1024;

/// Points handled between two checks of the monitor: less than a millisecond of work.
const LOOK: usize = 2048;

/// Components are first sought along one of this many edges of each point, the farthest first.
const SPARSE: usize = 4;

/// The neighbors of a point are prefetched this many points ahead.
const AHEAD: usize = 8;

/// The neighbors of every point, nearest first and without the point itself, in one flat list.
///
/// Either all neighborhoods have the same size, or a row pointer marks their starts. Both lists may be borrowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighborhoods<'a> {
    indices: Cow<'a, [u32]>,
    layout: Layout<'a>,
}

#[derive(Debug, Clone, PartialEq)]
enum Layout<'a> {
    /// `k` neighbors each.
    Fixed(usize),
    /// Neighborhood `i` is `indices[indptr[i]..indptr[i + 1]]`.
    Ragged(Cow<'a, [i64]>),
}

/// Neighborhoods with the distance to every neighbor.
#[derive(Debug, Clone, PartialEq)]
pub struct Knn {
    /// The neighbors of every point.
    pub neighborhoods: Neighborhoods<'static>,
    /// The distance to every neighbor, in the same order.
    pub distances: Vec<f64>,
}

/// The `k` nearest points of every query point. This is no graph: queries and neighbors are different points.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Number of neighbors of each query point.
    pub k: usize,
    /// The neighbors, `k` per query point, nearest first.
    pub indices: Vec<u32>,
    /// The distance to every neighbor, in the same order.
    pub distances: Vec<f64>,
}

impl Found {
    /// The graph, if the points were searched for each other.
    pub(super) fn into_knn(self) -> Knn {
        Knn { neighborhoods: Neighborhoods::fixed(self.k, self.indices), distances: self.distances }
    }
}

/// The neighbors of many points, which any thread may write: atomics cost what plain stores cost.
pub(super) struct Table {
    k: usize,
    indices: Vec<AtomicU32>,
    distances: Vec<AtomicU64>,
}

impl Table {
    pub fn new(n: usize, k: usize) -> Result<Self> {
        let total = n.saturating_mul(k);
        Ok(Table { k, indices: zeros(total)?, distances: zeros(total)? })
    }

    /// Writes (squared distance, index) of the neighbors of point `i`.
    #[inline]
    pub fn write(&self, i: u32, neighbors: impl Iterator<Item = (f64, u32)>) {
        for (place, (d2, j)) in (i as usize * self.k..).zip(neighbors) {
            self.indices[place].store(j, Ordering::Relaxed);
            self.distances[place].store(d2.sqrt().to_bits(), Ordering::Relaxed);
        }
    }

    /// Writes neighbors of point `i` and their distances.
    pub fn copy(&self, i: u32, neighbors: &[u32], distances: &[f64]) {
        for (place, (&j, &distance)) in (i as usize * self.k..).zip(neighbors.iter().zip(distances)) {
            self.indices[place].store(j, Ordering::Relaxed);
            self.distances[place].store(distance.to_bits(), Ordering::Relaxed);
        }
    }

    pub fn found(self) -> Found {
        let distances = self.distances.into_iter().map(|d| f64::from_bits(d.into_inner())).collect();
        Found { k: self.k, indices: self.indices.into_iter().map(AtomicU32::into_inner).collect(), distances }
    }
}

/// Memory that the system hands out page by page when it is first written, or an error if there is not enough.
pub(crate) fn zeros<A: FromZeros>(len: usize) -> Result<Vec<A>> {
    A::new_vec_zeroed(len).map_err(|_| Error::OutOfMemory { bytes: len.saturating_mul(size_of::<A>()) })
}

impl<'a> Neighborhoods<'a> {
    /// `k` neighbors each, known to be valid.
    pub(crate) fn fixed(k: usize, indices: Vec<u32>) -> Self {
        Neighborhoods { indices: Cow::Owned(indices), layout: Layout::Fixed(k) }
    }

    /// Any sizes, known to be valid.
    pub(crate) fn ragged(indptr: Vec<i64>, indices: Vec<u32>) -> Self {
        Neighborhoods { indices: Cow::Owned(indices), layout: Layout::Ragged(Cow::Owned(indptr)) }
    }

    /// Makes neighborhoods of `k` points each from a flat list.
    ///
    /// Fails if `k` is 0 or does not divide the length of the list, or if a neighbor does not exist, is the point
    /// itself or is listed twice.
    ///
    /// ```
    /// use unbend::Neighborhoods;
    /// let ring = Neighborhoods::from_fixed(2, vec![1, 2, 0, 2, 0, 1]).unwrap();
    /// assert_eq!(ring.of(1), [0, 2]);
    /// let error = Neighborhoods::from_fixed(1, vec![1, 5]).unwrap_err();
    /// assert_eq!(error.to_string(), "neighbor 5 of point 1 is out of range: there are 2 points");
    /// ```
    pub fn from_fixed(k: usize, indices: impl Into<Cow<'a, [u32]>>) -> Result<Self> {
        let indices = indices.into();
        if k == 0 {
            return Err(Error::NoNeighbors);
        }
        let (left, left_len, right) = ("indices", indices.len(), "a multiple of n_neighbors");
        if left_len % k != 0 {
            return Err(Error::LengthMismatch { left, left_len, right, right_len: k });
        }
        Neighborhoods { indices, layout: Layout::Fixed(k) }.checked()
    }

    /// Makes neighborhoods of any sizes from a row pointer and a flat list.
    ///
    /// Fails if the row pointer is not valid, or if a neighbor does not exist, is the point itself or is listed twice.
    pub fn from_ragged(
        indptr: impl Into<Cow<'a, [i64]>>,
        indices: impl Into<Cow<'a, [u32]>>,
    ) -> Result<Self> {
        let (indptr, indices) = (indptr.into(), indices.into());
        check_indptr(&indptr, indices.len())?;
        Neighborhoods { indices, layout: Layout::Ragged(indptr) }.checked()
    }

    /// Borrows a graph that was checked before. `indptr` is `None` if all neighborhoods hold `k`, which is at least 1.
    pub fn lent(indptr: Option<&'a [i64]>, k: usize, indices: &'a [u32]) -> Self {
        let layout = indptr.map_or(Layout::Fixed(k), |indptr| Layout::Ragged(Cow::Borrowed(indptr)));
        Neighborhoods { indices: Cow::Borrowed(indices), layout }
    }

    /// Every neighbor exists, is not the point itself and is listed once.
    fn checked(self) -> Result<Self> {
        let n = self.len();
        let bad = (0..n).into_par_iter().find_map_first(|point| bad_neighbor(point, self.of(point), n));
        bad.map_or(Ok(self), Err)
    }

    /// Number of points.
    #[allow(clippy::len_without_is_empty)] // graphs have at least one point
    pub fn len(&self) -> usize {
        match &self.layout {
            Layout::Fixed(k) => self.indices.len() / k,
            Layout::Ragged(indptr) => indptr.len() - 1,
        }
    }

    /// The neighbors of point `i`.
    #[inline]
    pub fn of(&self, i: usize) -> &[u32] {
        match &self.layout {
            Layout::Fixed(k) => &self.indices[i * k..(i + 1) * k],
            Layout::Ragged(indptr) => &self.indices[indptr[i] as usize..indptr[i + 1] as usize],
        }
    }

    /// Prefetches the neighbors of point `i`.
    #[inline]
    pub(crate) fn soon(&self, i: usize) {
        if let Some(first) = self.indices.get(self.start(i)) {
            prefetch_read_data::<_, 0>(first);
        }
    }

    /// Position of the first neighbor of point `i` in [`Neighborhoods::indices`].
    #[inline]
    pub fn start(&self, i: usize) -> usize {
        match &self.layout {
            Layout::Fixed(k) => i * k,
            Layout::Ragged(indptr) => indptr[i] as usize,
        }
    }

    /// The neighbors of all points, one neighborhood after the other.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The size of the neighborhoods, if all were made with the same.
    pub fn fixed_size(&self) -> Option<usize> {
        match self.layout {
            Layout::Fixed(k) => Some(k),
            Layout::Ragged(_) => None,
        }
    }

    /// The size of the largest neighborhood.
    pub fn largest(&self) -> usize {
        match self.layout {
            Layout::Fixed(k) => k,
            Layout::Ragged(_) => (0..self.len()).map(|i| self.of(i).len()).max().unwrap_or(0),
        }
    }

    /// Returns the row pointer and the indices. The row pointer is `None` if all neighborhoods have the same size.
    pub fn into_parts(self) -> (Option<Vec<i64>>, Vec<u32>) {
        let indptr = match self.layout {
            Layout::Fixed(_) => None,
            Layout::Ragged(indptr) => Some(indptr.into_owned()),
        };
        (indptr, self.indices.into_owned())
    }

    /// The points in breadth-first order, from the lowest index of each component: neighbors are near each other.
    pub fn breadth_first(&self, monitor: &dyn Monitor) -> Result<Vec<u32>> {
        let mut order: Vec<u32> = Vec::with_capacity(self.len());
        let mut seen = vec![false; self.len()];
        let mut next = 0;
        for first in 0..self.len() as u32 {
            if !std::mem::replace(&mut seen[first as usize], true) {
                order.push(first);
            }
            while next < order.len() {
                if next.is_multiple_of(LOOK) {
                    monitor.check()?;
                }
                if let Some(&coming) = order.get(next + AHEAD) {
                    self.soon(coming as usize);
                }
                let ends = self.of(order[next] as usize).iter();
                order.extend(ends.filter(|&&j| !std::mem::replace(&mut seen[j as usize], true)));
                next += 1;
            }
        }
        Ok(order)
    }

    /// The graph in a new order of the points, which lists each point once, and the new number of every point.
    /// Neighbors stay in their order.
    pub fn renumbered(
        &self,
        order: &[u32],
        monitor: &dyn Monitor,
    ) -> Result<(Neighborhoods<'static>, Vec<u32>)> {
        let places = inverse(order);
        Ok((self.lists_of(order, &places, monitor)?, places))
    }

    /// The graph of some points, numbered by their places in `rows`. Neighbors stay in their order.
    ///
    /// Fails if a row does not exist or comes twice, or if a neighbor is not among the rows.
    pub fn part(&self, rows: &[u32], monitor: &dyn Monitor) -> Result<Neighborhoods<'static>> {
        let n = self.len();
        let mut places = vec![u32::MAX; n];
        for (&row, place) in rows.iter().zip(0..) {
            match places.get_mut(row as usize) {
                Some(free) if *free == u32::MAX => *free = place,
                Some(_) => return Err(Error::RepeatedRow { row: row as usize }),
                None => return Err(Error::RowOutOfRange { row: row as usize, n }),
            }
        }
        let leaves = rows.par_iter().find_map_first(|&row| {
            let point = row as usize;
            let outside = self.of(point).iter().find(|&&j| places[j as usize] == u32::MAX);
            outside.map(|&j| Error::LeavesPart { point, neighbor: j as usize, rows: rows.len() })
        });
        leaves.map_or(Ok(()), Err)?;
        self.lists_of(rows, &places, monitor)
    }

    /// The lists of some points, with the place of each neighbor for its number.
    fn lists_of(
        &self,
        rows: &[u32],
        places: &[u32],
        monitor: &dyn Monitor,
    ) -> Result<Neighborhoods<'static>> {
        let indptr = row_pointer(rows.iter().map(|&point| self.of(point as usize).len()));
        let mut indices = vec![0; indptr[rows.len()] as usize];
        let (_, sizes) = blocks(&indptr, LOOK);
        let chunks = pieces(&mut indices, sizes.into_iter());
        rows.par_chunks(LOOK).zip(chunks).try_for_each(|(some, own)| {
            monitor.check()?;
            let listed = some.iter().flat_map(|&point| self.of(point as usize));
            own.iter_mut().zip(listed).for_each(|(to, &j)| *to = places[j as usize]);
            Ok(())
        })?;
        Ok(match self.layout {
            Layout::Fixed(k) => Neighborhoods::fixed(k, indices),
            Layout::Ragged(_) => Neighborhoods::ragged(indptr, indices),
        })
    }

    /// For every point the points that list it, in rising order.
    pub fn reversed(&self) -> Neighborhoods<'static> {
        let pairs = (0..self.len()).flat_map(|i| self.of(i).iter().map(move |&j| (j, i as u32)));
        let lists = Csr::grouped(self.len(), self.indices().iter().copied(), pairs);
        Neighborhoods::ragged(lists.indptr, lists.indices)
    }

    /// The neighborhoods without the entries that are dropped. `dropped` must have one flag for each entry.
    pub fn restricted(&self, dropped: &[bool]) -> Neighborhoods<'static> {
        let (mut indptr, mut indices) = (Vec::with_capacity(self.len() + 1), Vec::new());
        indptr.push(0);
        for i in 0..self.len() {
            let flags = &dropped[self.start(i)..][..self.of(i).len()];
            indices.extend(self.of(i).iter().zip(flags).filter(|(_, dropped)| !**dropped).map(|(&j, _)| j));
            indptr.push(indices.len() as i64);
        }
        Neighborhoods::ragged(indptr, indices)
    }

    /// Sorts every neighborhood by a key.
    pub fn sort_rows_by_key(&mut self, key: impl Fn(u32) -> u32 + Sync) {
        let sizes: Vec<usize> = (0..self.len()).map(|i| self.of(i).len()).collect();
        let chunks = pieces(self.indices.to_mut(), sizes.chunks(CHUNK).map(|sizes| sizes.iter().sum()));
        chunks.into_par_iter().zip(sizes.par_chunks(CHUNK)).for_each(|(own, sizes)| {
            for row in pieces(own, sizes.iter().copied()) {
                row.sort_unstable_by_key(|&j| key(j));
            }
        });
    }

    /// The undirected graph: `j` is a neighbor of `i` if either lists the other. Neighbors are in rising order.
    pub fn symmetrized(&self) -> Neighborhoods<'static> {
        self.mutual().0
    }

    /// The undirected graph, and for each of its entries the number of ends (1 or 2) that list the other.
    pub fn mutual(&self) -> (Neighborhoods<'static>, Vec<u8>) {
        self.mutual_with(&self.reversed())
    }

    /// The same, if the reversed lists are known.
    pub(crate) fn mutual_with(&self, reversed: &Neighborhoods) -> (Neighborhoods<'static>, Vec<u8>) {
        let mut sizes = vec![0; self.len()];
        let chunks = sizes.par_chunks_mut(CHUNK).enumerate();
        chunks.for_each_init(Vec::new, |own, (c, sizes)| {
            for (o, size) in sizes.iter_mut().enumerate() {
                merge(self.of(c * CHUNK + o), reversed.of(c * CHUNK + o), own, |_, _| *size += 1);
            }
        });
        let indptr: Vec<i64> = row_pointer(sizes.into_iter());
        let total = indptr[self.len()] as usize;
        let (mut indices, mut counts) = (vec![0; total], vec![0; total]);
        let (blocks, sizes) = blocks(&indptr, CHUNK);
        let sizes = || sizes.iter().copied();
        let places = pieces(&mut indices, sizes()).into_par_iter().zip(pieces(&mut counts, sizes()));
        places.zip(blocks).for_each_init(Vec::new, |sorted, ((indices, counts), block)| {
            let mut places = indices.iter_mut().zip(counts);
            for i in block {
                merge(self.of(i), reversed.of(i), sorted, |j, count| {
                    if let Some((index, place)) = places.next() {
                        (*index, *place) = (j, count);
                    }
                });
            }
        });
        (Neighborhoods::ragged(indptr, indices), counts)
    }

    /// The connected component of every point in the undirected graph. Components are numbered by their lowest points.
    pub fn components(&self) -> Vec<u32> {
        let mut sets: UnionFind = UnionFind::new(self.len());
        for i in 0..self.len() {
            for &j in self.of(i).iter().rev().step_by(SPARSE) {
                sets.join(i as u32, j, ());
            }
        }
        // These edges join nearly all that is connected; threads look for the others.
        let roots: Vec<u32> = (0..self.len() as u32).map(|i| sets.root(i)).collect();
        let apart = (0..self.len()).into_par_iter().with_min_len(CHUNK).flat_map_iter(|i| {
            let roots = &roots;
            let others = self.of(i).iter().filter(move |&&j| roots[j as usize] != roots[i]);
            others.map(move |&j| (i as u32, j))
        });
        let apart: Vec<(u32, u32)> = apart.collect();
        apart.into_iter().for_each(|(i, j)| {
            sets.join(i, j, ());
        });
        sets.labels()
    }
}

/// Blocks of `len` rows, with their numbers of entries.
fn blocks(indptr: &[i64], len: usize) -> (Vec<Range<usize>>, Vec<usize>) {
    let n = indptr.len() - 1;
    let blocks = (0..n).step_by(len).map(|start| start..(start + len).min(n));
    blocks.map(|block| (block.clone(), (indptr[block.end] - indptr[block.start]) as usize)).unzip()
}

/// Calls `f(j, count)` for every `j` in one or both of two lists, in rising order; the second list is sorted.
#[inline(always)]
fn merge(own: &[u32], rising: &[u32], sorted: &mut Vec<u32>, mut f: impl FnMut(u32, u8)) {
    sorted.clear();
    sorted.extend_from_slice(own);
    sorted.sort_unstable();
    let (mut a, mut b) = (sorted.iter().peekable(), rising.iter().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (Some(&&i), Some(&&j)) => {
                if i <= j {
                    a.next();
                }
                if j <= i {
                    b.next();
                }
                f(i.min(j), 1 + u8::from(i == j));
            }
            (Some(&&i), None) => {
                a.next();
                f(i, 1);
            }
            (None, Some(&&j)) => {
                b.next();
                f(j, 1);
            }
            (None, None) => return,
        }
    }
}

fn bad_neighbor(point: usize, neighbors: &[u32], n: usize) -> Option<Error> {
    const SHORT: usize = 32;
    if let Some(&j) = neighbors.iter().find(|&&j| j as usize >= n) {
        return Some(Error::NeighborOutOfRange { point, neighbor: j as usize, n });
    }
    let repeated = if let Some(&own) = neighbors.iter().find(|&&j| j as usize == point) {
        Some(own)
    } else if neighbors.len() <= SHORT {
        (1..neighbors.len()).find(|&i| neighbors[..i].contains(&neighbors[i])).map(|i| neighbors[i])
    } else {
        let mut sorted = neighbors.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    };
    repeated.map(|j| Error::RepeatedNeighbor { point, neighbor: j as usize })
}
