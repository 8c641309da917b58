//! The neighbourhoods of all points, and the graph they span.

use std::borrow::Cow;
use std::ops::Range;

use branches::prefetch_read_data;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::monitor::Monitor;

/// Points handled at once.
const CHUNK: usize = 1024;

/// Points between two looks at the monitor: less than a millisecond of work.
const LOOK: usize = 2048;

/// So many points before its turn memory is told that the neighbours of one will be read.
const AHEAD: usize = 8;

/// For every point its neighbours, nearest first and without the point itself.
///
/// One flat list of indices. All neighbourhoods have the same size, or a row pointer says where each
/// begins. The lists may be borrowed, so that a caller's arrays are used where they lie.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighborhoods<'a> {
    indices: Cow<'a, [u32]>,
    layout: Layout<'a>,
}

#[derive(Debug, Clone, PartialEq)]
enum Layout<'a> {
    /// `k` neighbours each.
    Fixed(usize),
    /// Neighbourhood `i` is `indices[indptr[i]..indptr[i + 1]]`.
    Ragged(Cow<'a, [i64]>),
}

/// Neighbourhoods with the distance to every neighbour.
#[derive(Debug, Clone, PartialEq)]
pub struct Knn {
    /// Who the neighbours are.
    pub neighborhoods: Neighborhoods<'static>,
    /// How far each is, in the same order.
    pub distances: Vec<f64>,
}

/// For every point that asked its `k` nearest among other points: no graph, for those who ask are not those found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// How many for each.
    pub k: usize,
    /// Who they are, `k` after `k`, nearest first.
    pub indices: Vec<u32>,
    /// How far each is, in the same order.
    pub distances: Vec<f64>,
}

impl Found {
    /// The graph, where the points asked for each other.
    pub(super) fn into_knn(self) -> Knn {
        Knn { neighborhoods: Neighborhoods::fixed(self.k, self.indices), distances: self.distances }
    }
}

impl<'a> Neighborhoods<'a> {
    /// `k` neighbours each, known to be valid.
    pub(crate) fn fixed(k: usize, indices: Vec<u32>) -> Self {
        Neighborhoods { indices: Cow::Owned(indices), layout: Layout::Fixed(k) }
    }

    /// Any sizes, known to be valid.
    pub(crate) fn ragged(indptr: Vec<i64>, indices: Vec<u32>) -> Self {
        Neighborhoods { indices: Cow::Owned(indices), layout: Layout::Ragged(Cow::Owned(indptr)) }
    }

    /// Neighbourhoods of `k` points each from a flat list, checked.
    ///
    /// ```
    /// use unbend::Neighborhoods;
    /// let ring = Neighborhoods::from_fixed(2, vec![1, 2, 0, 2, 0, 1]).unwrap();
    /// assert_eq!(ring.of(1), [0, 2]);
    /// let error = Neighborhoods::from_fixed(1, vec![1, 5]).unwrap_err();
    /// assert_eq!(error.to_string(), "neighbour 5 of point 1 is out of range: there are 2 points");
    /// ```
    pub fn from_fixed(k: usize, indices: impl Into<Cow<'a, [u32]>>) -> Result<Self> {
        let indices = indices.into();
        if k == 0 {
            return Err(Error::NoNeighbors);
        }
        if indices.len() % k != 0 {
            return Err(Error::LengthMismatch {
                left: "indices",
                left_len: indices.len(),
                right: "a multiple of n_neighbors",
                right_len: k,
            });
        }
        Neighborhoods { indices, layout: Layout::Fixed(k) }.checked()
    }

    /// Neighbourhoods of any sizes from a row pointer and a flat list, checked.
    pub fn from_ragged(
        indptr: impl Into<Cow<'a, [i64]>>,
        indices: impl Into<Cow<'a, [u32]>>,
    ) -> Result<Self> {
        let (indptr, indices) = (indptr.into(), indices.into());
        check_indptr(&indptr, indices.len())?;
        Neighborhoods { indices, layout: Layout::Ragged(indptr) }.checked()
    }

    /// A graph that was valid when it was made and is lent again; `indptr` is `None` when all neighbourhoods hold
    /// `k`. Neighbours are not looked at: see [`Neighborhoods::in_range`].
    pub fn lent(indptr: Option<&'a [i64]>, k: usize, indices: &'a [u32]) -> Result<Self> {
        let layout = match indptr {
            Some(indptr) => {
                check_indptr(indptr, indices.len())?;
                Layout::Ragged(Cow::Borrowed(indptr))
            }
            None if k == 0 => return Err(Error::NoNeighbors),
            None => Layout::Fixed(k),
        };
        Ok(Neighborhoods { indices: Cow::Borrowed(indices), layout })
    }

    /// Looks once more at what would break a computation, if the lists have been in other hands.
    pub fn in_range(self) -> Result<Self> {
        let largest = self.indices.par_chunks(1 << 16).map(|c| c.iter().fold(0, |m, &j| j.max(m))).max();
        if largest.is_some_and(|j| j as usize >= self.len()) { self.checked() } else { Ok(self) }
    }

    /// Every neighbour exists, is not the point itself and is listed once.
    fn checked(self) -> Result<Self> {
        let n = self.len();
        let bad = (0..n).into_par_iter().find_map_first(|point| bad_neighbor(point, self.of(point), n));
        match bad {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// How many neighbourhoods, one for each point.
    #[allow(clippy::len_without_is_empty)] // a graph of no points has no use for the question
    pub fn len(&self) -> usize {
        match &self.layout {
            Layout::Fixed(k) => self.indices.len() / k,
            Layout::Ragged(indptr) => indptr.len() - 1,
        }
    }

    /// The neighbours of point `i`.
    #[inline]
    pub fn of(&self, i: usize) -> &[u32] {
        match &self.layout {
            Layout::Fixed(k) => &self.indices[i * k..(i + 1) * k],
            Layout::Ragged(indptr) => &self.indices[indptr[i] as usize..indptr[i + 1] as usize],
        }
    }

    /// The neighbours of point `i` will be read soon: a hint to memory.
    #[inline]
    pub(crate) fn soon(&self, i: usize) {
        if let Some(first) = self.indices.get(self.start(i)) {
            prefetch_read_data::<_, 0>(first);
        }
    }

    /// Where the neighbours of point `i` begin among all.
    #[inline]
    pub fn start(&self, i: usize) -> usize {
        match &self.layout {
            Layout::Fixed(k) => i * k,
            Layout::Ragged(indptr) => indptr[i] as usize,
        }
    }

    /// All neighbours, neighbourhood after neighbourhood.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The size of all neighbourhoods, if it is one.
    pub fn fixed_size(&self) -> Option<usize> {
        match self.layout {
            Layout::Fixed(k) => Some(k),
            Layout::Ragged(_) => None,
        }
    }

    /// The size of the largest neighbourhood.
    pub fn largest(&self) -> usize {
        match self.layout {
            Layout::Fixed(k) => k,
            Layout::Ragged(_) => (0..self.len()).map(|i| self.of(i).len()).max().unwrap_or(0),
        }
    }

    /// Gives away (row pointer, indices); the row pointer is `None` when all sizes are the same.
    pub fn into_parts(self) -> (Option<Vec<i64>>, Vec<u32>) {
        let indptr = match self.layout {
            Layout::Fixed(_) => None,
            Layout::Ragged(indptr) => Some(indptr.into_owned()),
        };
        (indptr, self.indices.into_owned())
    }

    /// All points, each after one that lists it as far as there is one, from the lowest that is left. Neighbours stand near
    /// each other: what goes through the points in this order finds their neighbours where it has just been.
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
                let beside = self.of(order[next] as usize).iter();
                order.extend(beside.filter(|&&j| !std::mem::replace(&mut seen[j as usize], true)));
                next += 1;
            }
        }
        Ok(order)
    }

    /// The same graph between the places of points in an order that has each once, and the place of each point.
    /// Neighbours stay in their order.
    pub fn renumbered(
        &self,
        order: &[u32],
        monitor: &dyn Monitor,
    ) -> Result<(Neighborhoods<'static>, Vec<u32>)> {
        let mut places = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&point, place)| places[point as usize] = place);
        let mut indptr = vec![0i64; order.len() + 1];
        for (place, &point) in order.iter().enumerate() {
            indptr[place + 1] = indptr[place] + self.of(point as usize).len() as i64;
        }
        let mut indices = vec![0; self.indices.len()];
        let mut rows = Vec::with_capacity(order.len().div_ceil(LOOK));
        let mut rest = indices.as_mut_slice();
        for some in order.chunks(LOOK) {
            let size = some.iter().map(|&point| self.of(point as usize).len()).sum();
            let (own, after) = rest.split_at_mut(size);
            rows.push((some, own));
            rest = after;
        }
        rows.into_par_iter().try_for_each(|(some, own)| {
            monitor.check()?;
            let listed = some.iter().flat_map(|&point| self.of(point as usize));
            own.iter_mut().zip(listed).for_each(|(to, &j)| *to = places[j as usize]);
            Ok(())
        })?;
        let graph = match self.layout {
            Layout::Fixed(k) => Neighborhoods::fixed(k, indices),
            Layout::Ragged(_) => Neighborhoods::ragged(indptr, indices),
        };
        Ok((graph, places))
    }

    /// For every point the points that list it, in rising order.
    ///
    /// ```
    /// use unbend::Neighborhoods;
    /// let star = Neighborhoods::from_fixed(1, vec![1, 0, 0]).unwrap();
    /// assert_eq!(star.reversed().of(0), [1, 2]);
    /// ```
    pub fn reversed(&self) -> Neighborhoods<'static> {
        let mut sizes = vec![0usize; self.len()];
        for &j in self.indices() {
            sizes[j as usize] += 1;
        }
        let indptr = row_pointer(sizes.into_iter());
        let mut next: Vec<usize> = indptr.iter().map(|&p| p as usize).collect();
        let mut indices = vec![0; self.indices().len()];
        for i in 0..self.len() {
            for &j in self.of(i) {
                indices[next[j as usize]] = i as u32;
                next[j as usize] += 1;
            }
        }
        Neighborhoods::ragged(indptr, indices)
    }

    /// Puts every neighbourhood in rising order of a key.
    pub fn sort_rows_by_key(&mut self, key: impl Fn(u32) -> u32 + Sync) {
        let sizes: Vec<usize> = (0..self.len()).map(|i| self.of(i).len()).collect();
        let mut rest = self.indices.to_mut().as_mut_slice();
        let mut chunks = Vec::with_capacity(sizes.len().div_ceil(CHUNK));
        for sizes in sizes.chunks(CHUNK) {
            let (own, after) = rest.split_at_mut(sizes.iter().sum());
            chunks.push((own, sizes));
            rest = after;
        }
        chunks.into_par_iter().for_each(|(mut own, sizes)| {
            for &size in sizes {
                let (row, after) = own.split_at_mut(size);
                row.sort_unstable_by_key(|&j| key(j));
                own = after;
            }
        });
    }

    /// The undirected graph: `j` beside `i` when either lists the other, in rising order.
    pub fn symmetrized(&self) -> Neighborhoods<'static> {
        self.mutual().0
    }

    /// The undirected graph, and for each of its entries by how many of the two ends it is listed.
    ///
    /// ```
    /// use unbend::Neighborhoods;
    /// let star = Neighborhoods::from_fixed(1, vec![1, 0, 0]).unwrap();
    /// let (graph, counts) = star.mutual();
    /// assert_eq!((graph.of(0), counts), (&[1, 2][..], vec![2, 1, 2, 1]));
    /// ```
    pub fn mutual(&self) -> (Neighborhoods<'static>, Vec<u8>) {
        let reversed = self.reversed();
        let mut sizes = vec![0; self.len()];
        let chunks = sizes.par_chunks_mut(CHUNK).enumerate();
        chunks.for_each_init(Vec::new, |own, (c, sizes)| {
            for (o, size) in sizes.iter_mut().enumerate() {
                merge(self.of(c * CHUNK + o), reversed.of(c * CHUNK + o), own, |_, _| *size += 1);
            }
        });
        let indptr = row_pointer(sizes.into_iter());
        let total = indptr[self.len()] as usize;
        let (mut indices, mut counts) = (vec![0; total], vec![0; total]);
        let chunks = split(&indptr, &mut indices, &mut counts);
        chunks.into_par_iter().for_each_init(Vec::new, |sorted, (block, indices, counts)| {
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

    /// The connected component of every point in the undirected graph, numbered by their first points.
    pub fn components(&self) -> Vec<u32> {
        let mut parent: Vec<u32> = (0..self.len() as u32).collect();
        for i in 0..self.len() {
            for &j in self.of(i) {
                let (a, b) = (root(&mut parent, i as u32), root(&mut parent, j));
                parent[a.max(b) as usize] = a.min(b);
            }
        }
        let mut labels = vec![0; self.len()];
        let mut count = 0;
        for i in 0..self.len() {
            let top = root(&mut parent, i as u32) as usize;
            if top == i {
                labels[i] = count;
                count += 1;
            } else {
                labels[i] = labels[top]; // a root is the lowest of its component, so it has its label
            }
        }
        labels
    }
}

/// The places of every `CHUNK` rows in two lists, to be written by one thread each.
fn split<'l>(
    indptr: &[i64],
    mut indices: &'l mut [u32],
    mut counts: &'l mut [u8],
) -> Vec<(Range<usize>, &'l mut [u32], &'l mut [u8])> {
    let n = indptr.len() - 1;
    let mut chunks = Vec::with_capacity(n.div_ceil(CHUNK));
    for start in (0..n).step_by(CHUNK) {
        let end = (start + CHUNK).min(n);
        let size = (indptr[end] - indptr[start]) as usize;
        let (own, own_counts);
        (own, indices) = indices.split_at_mut(size);
        (own_counts, counts) = counts.split_at_mut(size);
        chunks.push((start..end, own, own_counts));
    }
    chunks
}

/// Calls `f(j, count)` for every `j` that one or both of two lists hold, in rising order; the second list rises already.
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

/// The representative of `i`, halving the path to it.
fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        parent[i as usize] = parent[parent[i as usize] as usize];
        i = parent[i as usize];
    }
    i
}

fn row_pointer(sizes: impl Iterator<Item = usize>) -> Vec<i64> {
    let mut end = 0;
    std::iter::once(0)
        .chain(sizes.map(|size| {
            end += size as i64;
            end
        }))
        .collect()
}

fn check_indptr(indptr: &[i64], len: usize) -> Result<()> {
    let bad = |position: usize, reason: String| Err(Error::BadIndptr { position, reason });
    if indptr.len() < 2 {
        return bad(0, format!("it has {} entries, at least 2 are needed", indptr.len()));
    }
    if indptr[0] != 0 {
        return bad(0, format!("it starts at {}, not 0", indptr[0]));
    }
    if let Some(i) = (1..indptr.len()).find(|&i| indptr[i] < indptr[i - 1]) {
        return bad(i, format!("it falls from {} to {}", indptr[i - 1], indptr[i]));
    }
    let last = indptr.len() - 1;
    if indptr[last] != len as i64 {
        return bad(last, format!("it ends at {}, but there are {len} indices", indptr[last]));
    }
    Ok(())
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
