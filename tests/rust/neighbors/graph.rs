//! Graphs given by the user are checked; what is derived from them is what sets and a search would give.

use proptest::prelude::*;
use unbend::{Error, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::{gaussian, pick, rng};
use crate::{cases, naive};

fn ragged(rows: &[Vec<u32>]) -> Neighborhoods<'static> {
    let (indptr, indices) = naive::ragged(rows);
    Neighborhoods::from_ragged(indptr, indices).unwrap()
}

/// A random directed graph with about `mean` neighbors a point, some of them none.
fn random_rows(n: usize, mean: f64, seed: u64) -> Vec<Vec<u32>> {
    let mut rng = rng(seed);
    (0..n)
        .map(|i| {
            let size = pick(&mut rng, (2.0 * mean) as usize + 1).min(n - 1);
            let mut row: Vec<u32> = Vec::new();
            while row.len() < size {
                let j = pick(&mut rng, n) as u32;
                if j as usize != i && !row.contains(&j) {
                    row.push(j);
                }
            }
            row
        })
        .collect()
}

proptest! {
    #![proptest_config(cases(100))]

    /// Renumbering says the same of other names, and neighbors stay in their order.
    #[test]
    fn a_renumbered_graph_is_the_same(n in 1usize..120, mean in 0.0..4.0f64, fixed: bool, seed in 0u64..10_000) {
        let graph = if fixed && n > 3 {
            let x = gaussian(n, 2, seed);
            let points = Points::new("X", x.view(), &Unmonitored).unwrap();
            neighbors::nearest(&points, 3, Search::Auto, &Unmonitored).unwrap().neighborhoods
        } else {
            ragged(&random_rows(n, mean, seed))
        };
        let order = graph.breadth_first(&Unmonitored).unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert!(sorted.iter().copied().eq(0..n as u32));
        let (renumbered, places) = graph.renumbered(&order, &Unmonitored).unwrap();
        prop_assert_eq!(renumbered.fixed_size(), graph.fixed_size());
        for (place, &point) in order.iter().enumerate() {
            prop_assert_eq!(places[point as usize] as usize, place);
            let named: Vec<u32> = renumbered.of(place).iter().map(|&j| order[j as usize]).collect();
            prop_assert_eq!(&named[..], graph.of(point as usize));
        }
        prop_assert_eq!(&graph.part(&order, &Unmonitored).unwrap(), &renumbered);
        // a point is listed by one before it, or nobody before it lists anybody who is left
        let mut listed = std::collections::BTreeSet::new();
        for (place, &point) in order.iter().enumerate() {
            let begun = !listed.contains(&point);
            prop_assert!(!begun || listed.iter().all(|j| places[*j as usize] < place as u32));
            listed.extend(graph.of(point as usize).iter().copied());
        }
    }
}

proptest! {
    #![proptest_config(cases(100))]

    /// The rows of some components, in any order, name each other by their places.
    #[test]
    fn a_part_holds_the_lists_of_its_rows(n in 1usize..120, mean in 0.0..2.0f64, seed in 0u64..10_000) {
        let graph = ragged(&random_rows(n, mean, seed));
        let labels = graph.components();
        let mut rows: Vec<u32> = (0..n as u32).filter(|&i| labels[i as usize].is_multiple_of(2)).collect();
        rows.reverse();
        let part = graph.part(&rows, &Unmonitored).unwrap();
        prop_assert_eq!(part.len(), rows.len());
        for (place, &row) in rows.iter().enumerate() {
            let named: Vec<u32> = part.of(place).iter().map(|&j| rows[j as usize]).collect();
            prop_assert_eq!(&named[..], graph.of(row as usize));
        }
        if let Some(&j) = (0..n).flat_map(|i| graph.of(i)).next() {
            let others: Vec<u32> = (0..n as u32).filter(|&i| i != j).collect();
            let refused = graph.part(&others, &Unmonitored).unwrap_err();
            let leaves = matches!(refused, Error::LeavesPart { neighbor, .. } if neighbor == j as usize);
            prop_assert!(leaves, "{}", refused);
        }
        prop_assert_eq!(graph.part(&[0, 0], &Unmonitored), Err(Error::RepeatedRow { row: 0 }));
        prop_assert_eq!(graph.part(&[n as u32], &Unmonitored), Err(Error::RowOutOfRange { row: n, n }));
    }

    #[test]
    fn derived_graphs_are_those_of_sets(n in 1usize..120, mean in 0.0..4.0f64, seed in 0u64..10_000) {
        let expected = random_rows(n, mean, seed);
        let graph = ragged(&expected);
        prop_assert_eq!(naive::rows(&graph), expected.clone());
        prop_assert_eq!(graph.largest(), expected.iter().map(Vec::len).max().unwrap());

        let mut reversed = vec![Vec::new(); n];
        for (i, row) in expected.iter().enumerate() {
            row.iter().for_each(|&j| reversed[j as usize].push(i as u32));
        }
        prop_assert_eq!(naive::rows(&graph.reversed()), reversed);

        let mut sorted = expected.clone();
        sorted.iter_mut().for_each(|row| row.sort_unstable());
        prop_assert_eq!(naive::rows(&graph.reversed().reversed()), sorted);

        prop_assert_eq!(naive::rows(&graph.symmetrized()), naive::symmetrized(&expected));
        prop_assert_eq!(graph.components(), naive::components(&expected));
    }

    #[test]
    fn components_of_long_chains(n in 1usize..3000, cut in 0usize..3000, seed in 0u64..1000) {
        // a path through the points in random order, cut once
        let order = crate::clouds::permutation(n, seed);
        let mut rows = vec![Vec::new(); n];
        for (step, pair) in order.windows(2).enumerate() {
            if step != cut {
                rows[pair[0]].push(pair[1] as u32);
            }
        }
        let labels = ragged(&rows).components();
        prop_assert_eq!(labels.iter().max().copied(), Some(u32::from(cut + 1 < n)));
        prop_assert_eq!(labels, naive::components(&rows));
    }
}

#[test]
fn fixed_and_ragged_graphs_say_the_same() {
    let fixed = Neighborhoods::from_fixed(2, vec![1, 2, 0, 2, 3, 1, 2, 0]).unwrap();
    let same = Neighborhoods::from_ragged(vec![0, 2, 4, 6, 8], vec![1, 2, 0, 2, 3, 1, 2, 0]).unwrap();
    assert_eq!((fixed.len(), fixed.fixed_size(), fixed.largest()), (4, Some(2), 2));
    assert_eq!((same.len(), same.fixed_size(), same.largest()), (4, None, 2));
    assert_eq!(naive::rows(&fixed), naive::rows(&same));
    assert_eq!(fixed.symmetrized(), same.symmetrized());
    assert_eq!(fixed.components(), [0; 4]);
    assert_eq!(fixed.into_parts(), (None, vec![1, 2, 0, 2, 3, 1, 2, 0]));
    assert_eq!(same.into_parts(), (Some(vec![0, 2, 4, 6, 8]), vec![1, 2, 0, 2, 3, 1, 2, 0]));
}

#[test]
fn borrowed_lists_are_not_copied() {
    let (indptr, indices) = (vec![0i64, 1, 2], vec![1u32, 0]);
    let graph = Neighborhoods::from_ragged(&indptr[..], &indices[..]).unwrap();
    assert!(std::ptr::eq(graph.indices(), &indices[..]));
}

#[test]
fn isolated_points_are_components_of_their_own() {
    let graph = ragged(&[vec![], vec![3], vec![], vec![], vec![]]);
    assert_eq!(graph.components(), [0, 1, 2, 1, 3]);
    assert_eq!(graph.largest(), 1);
    assert_eq!(naive::rows(&graph.symmetrized()), [vec![], vec![3], vec![], vec![1], vec![]]);
    let nothing = ragged(&[vec![], vec![]]);
    assert_eq!((nothing.components(), nothing.largest()), (vec![0, 1], 0));
    assert_eq!(naive::rows(&nothing.reversed()), [vec![], vec![]] as [Vec<u32>; 2]);
}

#[test]
fn bad_neighbors_are_named() {
    let fixed = |k, indices: Vec<u32>| Neighborhoods::from_fixed(k, indices).unwrap_err();
    assert_eq!(fixed(0, vec![1]), Error::NoNeighbors);
    assert!(matches!(fixed(2, vec![1, 0, 1]), Error::LengthMismatch { left_len: 3, right_len: 2, .. }));
    assert_eq!(fixed(1, vec![1, 2]), Error::NeighborOutOfRange { point: 1, neighbor: 2, n: 2 });
    assert_eq!(
        fixed(1, vec![1, u32::MAX]),
        Error::NeighborOutOfRange { point: 1, neighbor: u32::MAX as usize, n: 2 }
    );
    assert_eq!(fixed(1, vec![1, 1]), Error::RepeatedNeighbor { point: 1, neighbor: 1 });
    assert_eq!(fixed(2, vec![1, 2, 0, 2, 0, 0]), Error::RepeatedNeighbor { point: 2, neighbor: 0 });
    let ragged =
        |indptr: Vec<i64>, indices: Vec<u32>| Neighborhoods::from_ragged(indptr, indices).unwrap_err();
    assert_eq!(ragged(vec![0, 0, 1], vec![2]), Error::NeighborOutOfRange { point: 1, neighbor: 2, n: 2 });
    assert_eq!(ragged(vec![0, 0, 1], vec![1]), Error::RepeatedNeighbor { point: 1, neighbor: 1 });
    // the first bad point is named, whichever thread finds one
    assert_eq!(ragged(vec![0, 2, 2, 3], vec![1, 1, 2]), Error::RepeatedNeighbor { point: 0, neighbor: 1 });
}

/// Long lists are checked by sorting.
#[test]
fn a_repeated_neighbor_is_found_in_lists_of_any_length() {
    for size in [2u32, 31, 32, 33, 34, 300] {
        let mut indices: Vec<u32> = (1..=size).rev().collect();
        let mut indptr = vec![0i64];
        indptr.resize(size as usize + 2, i64::from(size));
        let fine = Neighborhoods::from_ragged(indptr.clone(), indices.clone());
        assert_eq!(fine.unwrap().largest(), size as usize);
        let repeated = indices[0];
        indices[size as usize - 1] = repeated;
        let error = Neighborhoods::from_ragged(indptr, indices).unwrap_err();
        assert_eq!(
            error,
            Error::RepeatedNeighbor { point: 0, neighbor: repeated as usize },
            "{size} neighbors"
        );
    }
}

#[test]
fn bad_row_pointers_are_named() {
    let position = |indptr: Vec<i64>| match Neighborhoods::from_ragged(indptr, vec![1, 0]) {
        Err(Error::BadIndptr { position, .. }) => position,
        other => panic!("{other:?}"),
    };
    assert_eq!(position(vec![]), 0);
    assert_eq!(position(vec![0]), 0);
    assert_eq!(position(vec![1, 1, 2]), 0);
    assert_eq!(position(vec![-1, 1, 2]), 0);
    assert_eq!(position(vec![0, 2, 1, 2]), 2);
    assert_eq!(position(vec![0, -1, 2]), 1);
    assert_eq!(position(vec![0, 1, 1]), 2);
    assert_eq!(position(vec![0, 1, 3]), 2);
    assert_eq!(position(vec![0, 3, 2]), 2);
    assert!(Neighborhoods::from_ragged(vec![0, 1, 2], vec![1, 0]).is_ok());
}
