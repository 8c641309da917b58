//! Landmarks: counted path by path, and on graphs where they can be said by hand.

use ndarray::{Array2, array};
use proptest::prelude::*;
use unbend::measure::{Skeleton, SkeletonParams, skeleton};
use unbend::neighbors::paths::{Lengths, Tree};
use unbend::{Error, Monitor, Neighborhoods, Unmonitored};

use crate::clouds::*;
use crate::neighbors::paths::{any_lists, from_lists, knn, points, said};
use crate::{cases, naive, on_threads};

fn of(x: &Array2<f64>, graph: &Neighborhoods, n_landmarks: usize, sources: Option<&[u32]>) -> Skeleton {
    skeleton(&points(x), graph, SkeletonParams { n_landmarks, sources }, &Unmonitored).unwrap()
}

/// Walks every path back to its source.
fn walked(x: &Array2<f64>, graph: &Neighborhoods, sources: &[u32]) -> Vec<u64> {
    let lengths = Lengths::new(&points(x), graph, &Unmonitored).unwrap();
    let mut counts = vec![0; x.nrows()];
    let mut tree = Tree::default();
    for &source in sources {
        tree.grow(&lengths, source as usize, &Unmonitored).unwrap();
        let predecessors = said(&lengths, &tree).predecessors;
        for end in 0..x.nrows() {
            let mut at = predecessors[end];
            while let Some(i) = at.filter(|&i| i != source) {
                counts[i as usize] += 1;
                at = predecessors[i as usize];
            }
        }
    }
    counts
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn any_graph_is_counted_path_by_path(
        n in 1usize..40, most in 0usize..6, kind in 0usize..CLOUDS.len(), every in 1usize..4, seed: u32,
    ) {
        let seed = u64::from(seed);
        let (x, graph) = (double(CLOUDS[kind], n, 2, seed), from_lists(&any_lists(n, most, seed)));
        let sources: Vec<u32> = (0..n as u32).step_by(every).collect();
        let some = (every > 1).then_some(&sources[..]);
        let found = of(&x, &graph, n.div_ceil(3), some);
        prop_assert_eq!(&found.importance, &walked(&x, &graph, &sources));
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|&i| (u64::MAX - found.importance[i as usize], i));
        prop_assert_eq!(&found.landmarks[..], &order[..n.div_ceil(3)]);
        let (along, m) = (naive::graph_distances(&x, &naive::rows(&graph)), found.landmarks.len());
        for (at, &value) in found.distances.iter().enumerate() {
            let expected = along[[found.landmarks[at / m] as usize, found.landmarks[at % m] as usize]];
            prop_assert!(value == expected || (value - expected).abs() <= 1e-12 * expected);
        }
    }
}

#[test]
fn a_path_goes_through_its_middle() {
    let path = array![[0.0], [1.0], [2.0], [4.0], [5.0]];
    let found = of(&path, &from_lists(&[vec![1], vec![2], vec![3], vec![4], vec![]]), 3, None);
    // both ways: 1 x 3, 2 x 2, 3 x 1
    assert_eq!(found.importance, [0, 6, 8, 6, 0]);
    assert_eq!(found.landmarks, [2, 1, 3]);
    assert_eq!(found.distances, [0.0, 1.0, 2.0, 1.0, 0.0, 3.0, 2.0, 3.0, 0.0]);
}

#[test]
fn a_star_goes_through_its_centre_and_ties_to_the_lower_index() {
    let star = array![[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]];
    let found = of(&star, &from_lists(&[vec![2], vec![2], vec![], vec![2], vec![2]]), 3, None);
    assert_eq!(found.importance, [0, 0, 12, 0, 0]);
    assert_eq!(found.landmarks, [2, 0, 1]);
    assert_eq!(found.distances, [0.0, 1.0, 1.0, 1.0, 0.0, 2.0, 1.0, 2.0, 0.0]);
    let one = of(&star, &from_lists(&[vec![2], vec![2], vec![], vec![2], vec![2]]), 1, Some(&[4]));
    assert_eq!((one.importance, one.landmarks, one.distances), (vec![0, 0, 3, 0, 0], vec![2], vec![0.0]));
}

#[test]
fn the_same_for_any_number_of_threads() {
    let x = gaussian(1500, 3, 7);
    let graph = knn(&x, 8);
    let one = on_threads(1, || of(&x, &graph, 150, None));
    for threads in [2, 3, 7] {
        assert_eq!(on_threads(threads, || of(&x, &graph, 150, None)), one);
    }
}

#[test]
fn bad_input_is_named_and_a_stop_is_heard() {
    let x = gaussian(20, 2, 1);
    let graph = knn(&x, 3);
    let fails = |n_landmarks, sources, monitor: &dyn Monitor| {
        skeleton(&points(&x), &graph, SkeletonParams { n_landmarks, sources }, monitor).unwrap_err()
    };
    assert!(fails(0, None, &Unmonitored).to_string().contains("n_landmarks = 0"));
    assert!(fails(21, None, &Unmonitored).to_string().contains("n_landmarks = 21"));
    assert!(fails(2, Some(&[20]), &Unmonitored).to_string().contains("20"));
    struct Stop;
    impl Monitor for Stop {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    assert_eq!(fails(2, None, &Stop), Error::Interrupted);
}
