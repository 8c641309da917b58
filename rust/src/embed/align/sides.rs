//! Which points belong together, and which show the same side (a union-find that knows of reflections).

/// A union of sets that knows for every point whether it shows the same side as its representative.
pub struct Sides {
    parent: Vec<u32>,
    turned: Vec<bool>,
}

/// What joining two points found.
pub enum Joined {
    /// They were apart.
    Now,
    /// They were together already, and the loop through them closes with or without a reflection.
    Before { closes: bool },
}

impl Sides {
    pub fn new(n: usize) -> Self {
        Sides { parent: (0..n as u32).collect(), turned: vec![false; n] }
    }

    /// The representative of `i`, and whether `i` shows its other side. Paths are halved on the way.
    pub fn find(&mut self, mut i: u32) -> (u32, bool) {
        let mut turned = false;
        while self.parent[i as usize] != i {
            let up = self.parent[i as usize];
            if self.parent[up as usize] != up {
                self.turned[i as usize] ^= self.turned[up as usize];
                self.parent[i as usize] = self.parent[up as usize];
            }
            turned ^= self.turned[i as usize];
            i = self.parent[i as usize];
        }
        (i, turned)
    }

    /// Joins the sets of two points, of which one shows the other side of the other where `reflects`.
    pub fn join(&mut self, i: u32, j: u32, reflects: bool) -> Joined {
        let ((a, from_i), (b, from_j)) = (self.find(i), self.find(j));
        if a == b {
            return Joined::Before { closes: from_i ^ from_j == reflects };
        }
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high as usize] = low;
        self.turned[high as usize] = from_i ^ from_j ^ reflects;
        Joined::Now
    }

    /// The points of each set, with whether they show its other side.
    pub fn members(&mut self) -> Vec<Vec<(u32, bool)>> {
        let (mut number, mut members) = (vec![u32::MAX; self.parent.len()], vec![]);
        for i in 0..self.parent.len() as u32 {
            let (root, turned) = self.find(i);
            if number[root as usize] == u32::MAX {
                number[root as usize] = members.len() as u32;
                members.push(vec![]);
            }
            members[number[root as usize] as usize].push((i, turned));
        }
        members
    }
}
