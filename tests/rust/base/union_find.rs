//! Sets that were joined, against a search through all pairs.

use unbend::union_find::{Joined, UnionFind};

use crate::clouds::{pick, rng};

#[test]
fn labels_are_those_of_a_flood() {
    for seed in 0..20 {
        let (n, mut stream) = (40, rng(seed));
        let pairs: Vec<(u32, u32)> =
            (0..30).map(|_| (pick(&mut stream, n) as u32, pick(&mut stream, n) as u32)).collect();
        let mut labels: Vec<u32> = (0..n as u32).collect();
        for _ in 0..n {
            for &(i, j) in &pairs {
                let least = labels[i as usize].min(labels[j as usize]);
                (labels[i as usize], labels[j as usize]) = (least, least);
            }
        }
        let mut firsts = labels.clone();
        firsts.sort_unstable();
        firsts.dedup();
        let expected: Vec<u32> = labels
            .iter()
            .map(|label| firsts.iter().position(|first| first == label).unwrap() as u32)
            .collect();
        let mut sets: UnionFind = UnionFind::new(n);
        pairs.iter().for_each(|&(i, j)| {
            sets.join(i, j, ());
        });
        assert_eq!(sets.labels(), expected);
        let counted: Vec<Vec<u32>> =
            sets.sets().into_iter().map(|set| set.into_iter().map(|(i, ())| i).collect()).collect();
        for (label, set) in (0..).zip(counted) {
            assert!(set.is_sorted() && set.iter().all(|&i| expected[i as usize] == label));
        }
    }
}

#[test]
fn parities_are_those_of_the_points() {
    for seed in 0..20 {
        let (n, mut stream) = (40, rng(seed));
        let flipped: Vec<bool> = (0..n).map(|_| pick(&mut stream, 2) == 1).collect();
        let mut sets = UnionFind::<bool>::new(n);
        for _ in 0..60 {
            let (i, j) = (pick(&mut stream, n), pick(&mut stream, n));
            let relation = flipped[i] != flipped[j];
            assert_ne!(sets.join(i as u32, j as u32, relation), Joined::Before { consistent: false });
            assert_eq!(sets.join(i as u32, j as u32, !relation), Joined::Before { consistent: false });
        }
        for i in 0..n {
            let (root, relation) = sets.find(i as u32);
            assert_eq!(relation, flipped[i] != flipped[root as usize]);
        }
    }
}
