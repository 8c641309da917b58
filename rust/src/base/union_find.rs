//! Disjoint sets of points (union-find), optionally with the parity of every point in its set.

/// The relation of a point to the representative of its set: `()` if there is none, or a parity as `bool`.
pub trait Relation: Copy + Default + PartialEq {
    /// The relation of `a` to `c`, given that of `a` to `b` (`self`) and that of `b` to `c`.
    fn then(self, next: Self) -> Self;
}

impl Relation for () {
    #[inline(always)]
    fn then(self, (): ()) {}
}

impl Relation for bool {
    #[inline(always)]
    fn then(self, next: bool) -> bool {
        self ^ next
    }
}

/// Disjoint sets of the numbers below n. The representative of a set is its lowest member.
#[derive(Debug, Clone)]
pub struct UnionFind<R = ()> {
    parents: Vec<u32>,
    /// The relation of every point to its parent. Without relations this takes no memory.
    relations: Vec<R>,
}

/// The result of joining two points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// The points were in two sets, which are one now.
    Merged,
    /// The points were in one set already.
    Before {
        /// True if the known relation equals the given one.
        consistent: bool,
    },
}

impl<R: Relation> UnionFind<R> {
    /// `n` sets of one point each.
    pub fn new(n: usize) -> Self {
        UnionFind { parents: (0..n as u32).collect(), relations: vec![R::default(); n] }
    }

    /// The representative of `i`, and the relation of `i` to it. Halves the path on the way.
    #[inline]
    pub fn find(&mut self, mut i: u32) -> (u32, R) {
        let mut relation = R::default();
        while self.parents[i as usize] != i {
            let parent = self.parents[i as usize];
            let grandparent = self.parents[parent as usize];
            if grandparent != parent {
                let step = self.relations[i as usize].then(self.relations[parent as usize]);
                self.relations[i as usize] = step;
                self.parents[i as usize] = grandparent;
            }
            relation = relation.then(self.relations[i as usize]);
            i = grandparent;
        }
        (i, relation)
    }

    /// The representative of `i`.
    #[inline]
    pub fn root(&mut self, i: u32) -> u32 {
        self.find(i).0
    }

    /// Joins the sets of `i` and `j`, which are in this relation to each other.
    #[inline]
    pub fn join(&mut self, i: u32, j: u32, relation: R) -> Joined {
        let ((a, from_i), (b, from_j)) = (self.find(i), self.find(j));
        let between = from_i.then(relation).then(from_j);
        if a == b {
            return Joined::Before { consistent: between == R::default() };
        }
        let (low, high) = (a.min(b), a.max(b));
        self.parents[high as usize] = low;
        self.relations[high as usize] = between;
        Joined::Merged
    }

    /// The number of the set of every point. Sets are numbered in the order of their lowest members.
    pub fn labels(&mut self) -> Vec<u32> {
        let mut labels = vec![0; self.parents.len()];
        let mut count = 0;
        for i in 0..self.parents.len() as u32 {
            let root = self.root(i);
            // a root is the lowest of its set, so its label is known
            labels[i as usize] = if root == i { count } else { labels[root as usize] };
            count += u32::from(root == i);
        }
        labels
    }

    /// The members of every set in rising order, each with its relation to the lowest; sets as in [`Self::labels`].
    pub fn sets(&mut self) -> Vec<Vec<(u32, R)>> {
        let mut sets = vec![];
        for (i, label) in (0..).zip(self.labels()) {
            if label as usize == sets.len() {
                sets.push(vec![]);
            }
            sets[label as usize].push((i, self.find(i).1));
        }
        sets
    }
}
