//! Shortest paths: against Floyd & Warshall on any graph, and what a tree of them must be.

use ndarray::{Array2, array};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use unbend::neighbors::paths::{Lengths, Tree, from_each, to_listed};
use unbend::{Error, Monitor, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

pub fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

pub fn knn(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

/// Any lists: of any sizes, empty ones, hubs, several components.
pub fn any_lists(n: usize, most: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut rng = rng(seed);
    let parts = 1 + pick(&mut rng, 3);
    (0..n)
        .map(|i| {
            let wanted = pick(&mut rng, most + 1);
            let mut list: Vec<u32> = (0..wanted)
                .map(|_| if pick(&mut rng, 4) == 0 { 0 } else { pick(&mut rng, n) as u32 })
                .filter(|&j| j as usize != i && j as usize % parts == i % parts)
                .collect();
            list.sort_unstable();
            list.dedup();
            list
        })
        .collect()
}

pub fn from_lists(lists: &[Vec<u32>]) -> Neighborhoods<'static> {
    let (indptr, indices) = naive::ragged(lists);
    Neighborhoods::from_ragged(indptr, indices).unwrap()
}

fn lengths(x: &Array2<f64>, graph: &Neighborhoods) -> Lengths {
    Lengths::new(&points(x), graph, &Unmonitored).unwrap()
}

fn tree(graph: &Lengths, source: usize) -> Said {
    let mut tree = Tree::default();
    tree.grow(graph, source, &Unmonitored).unwrap();
    said(graph, &tree)
}

/// Everything that a tree says, of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub distances: Vec<f64>,
    pub predecessors: Vec<Option<u32>>,
    pub order: Vec<u32>,
}

pub fn said(graph: &Lengths, tree: &Tree) -> Said {
    let point = |place: u32| graph.points()[place as usize];
    let places = || graph.places().iter().map(|&place| place as usize);
    Said {
        distances: places().map(|place| tree.distances()[place]).collect(),
        predecessors: places().map(|place| tree.predecessor(place).map(point)).collect(),
        order: tree.order().iter().map(|&place| point(place)).collect(),
    }
}

fn length(graph: &Lengths, i: usize, j: usize) -> Option<f64> {
    let mut ends = graph.adjacent(graph.places()[i] as usize);
    ends.find(|&(place, _)| graph.points()[place as usize] as usize == j).map(|(_, length)| length)
}

/// The rule of predecessors, read off the distances.
fn check_tree(graph: &Lengths, source: usize, tree: &Said) {
    let (d, order) = (&tree.distances, &tree.order);
    assert_eq!((order[0] as usize, d[source], tree.predecessors[source]), (source, 0.0, None));
    assert!(order.windows(2).all(|pair| d[pair[0] as usize] <= d[pair[1] as usize]));
    let place: Vec<Option<usize>> =
        (0..d.len()).map(|i| order.iter().position(|&j| j as usize == i)).collect();
    for i in (0..d.len()).filter(|&i| i != source) {
        assert_eq!(place[i].is_some(), d[i].is_finite());
        let leads = |j: &usize| length(graph, *j, i).is_some_and(|length| d[*j] + length == d[i]);
        let found = tree.predecessors[i].map(|j| j as usize);
        let nearest = (0..d.len()).filter(|&j| d[j] < d[i]).find(leads);
        match (nearest, found) {
            (Some(expected), found) => assert_eq!(found, Some(expected)),
            (None, Some(found)) => assert!(leads(&found) && d[found] == d[i] && place[found] < place[i]),
            (None, None) => assert!(d[i].is_infinite()),
        }
    }
}

fn check_distances(x: &Array2<f64>, graph: &Neighborhoods) {
    let (lengths, expected) = (lengths(x, graph), naive::graph_distances(x, &naive::rows(graph)));
    let mut reused = Tree::default();
    for source in 0..x.nrows() {
        reused.grow(&lengths, source, &Unmonitored).unwrap();
        let found = said(&lengths, &reused);
        assert_eq!(found, tree(&lengths, source));
        check_tree(&lengths, source, &found);
        for (found, expected) in found.distances.iter().zip(expected.row(source)) {
            assert!(found == expected || (found - expected).abs() <= 1e-13 * expected, "{found} {expected}");
        }
    }
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn any_graph_has_the_distances_of_the_definition(
        n in 1usize..40, most in 0usize..6, kind in 0usize..CLOUDS.len(), q in 1usize..4, seed: u32,
    ) {
        let seed = u64::from(seed);
        check_distances(&double(CLOUDS[kind], n, q, seed), &from_lists(&any_lists(n, most, seed)));
    }

    #[test]
    fn so_do_graphs_of_neighbors(n in 8usize..50, k in 1usize..7, kind in 0usize..CLOUDS.len(), seed: u32) {
        let x = double(CLOUDS[kind], n, 3, u64::from(seed));
        check_distances(&x, &knn(&x, k));
    }
}

#[test]
fn ways_to_listed_points_are_those_of_the_tree_up_to_a_limit() {
    let x = gaussian(400, 2, 5);
    let graph = lengths(&x, &knn(&x, 5));
    let sources = [3, 77, 399];
    let lists: Vec<u32> = (0..150).map(|at| at * 7 % 400).collect();
    for limits in [[0.0; 3], [0.3, 1.0, 0.05], [f64::INFINITY; 3]] {
        let found = to_listed(&graph, &sources, &lists, &limits, &Unmonitored).unwrap();
        for ((found, lists), (&source, limit)) in
            found.chunks(50).zip(lists.chunks(50)).zip(sources.iter().zip(limits))
        {
            let whole = tree(&graph, source as usize);
            for (&far, &j) in found.iter().zip(lists) {
                let expected = whole.distances[j as usize];
                assert_eq!(far, if expected <= limit { expected } else { f64::INFINITY });
            }
        }
    }
}

#[test]
fn a_tree_that_was_ended_is_forgotten_beyond() {
    let x = gaussian(500, 2, 6);
    let graph = lengths(&x, &knn(&x, 6));
    let mut reused = Tree::default();
    for (source, limit) in [(5, 0.7), (400, 0.1), (5, 3.0), (77, 0.0)] {
        let whole = tree(&graph, source);
        reused.grow_within(&graph, source, limit, &Unmonitored).unwrap();
        let found = said(&graph, &reused);
        for (far, expected) in found.distances.iter().zip(&whole.distances) {
            assert_eq!(*far, if *expected <= limit { *expected } else { f64::INFINITY });
        }
        assert_eq!(found.order[..], whole.order[..found.order.len()]);
        assert!(found.predecessors.iter().zip(&found.distances).all(|(p, d)| p.is_none() || d.is_finite()));
    }
    reused.grow(&graph, 9, &Unmonitored).unwrap();
    assert_eq!(said(&graph, &reused), tree(&graph, 9));
}

#[test]
fn what_is_listed_must_belong_together() {
    let x = gaussian(20, 2, 5);
    let graph = lengths(&x, &knn(&x, 5));
    let refused = |sources: &[u32], lists: &[u32], limits: &[f64]| {
        to_listed(&graph, sources, lists, limits, &Unmonitored).unwrap_err().to_string()
    };
    assert_eq!(refused(&[1, 2], &[3, 4], &[1.0]), "limits has 1 rows, but sources has 2");
    assert_eq!(refused(&[1, 2], &[3, 4, 5], &[1.0, 1.0]), "lists has 3 rows, but sources has 2");
    assert!(refused(&[1], &[3, 20], &[1.0]).contains("20"));
    assert!(to_listed(&graph, &[], &[], &[], &Unmonitored).unwrap().is_empty());
}

#[test]
fn ties_go_to_the_lower_index() {
    // a square of equal sides: both ways round to the far corner are as long
    let square = array![[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
    let ring = from_lists(&[vec![2, 3], vec![2, 3], vec![], vec![]]);
    let found = tree(&lengths(&square, &ring), 0);
    assert_eq!((found.distances[1], found.predecessors[1]), (2.0, Some(2)));
    assert_eq!(found.order, [0, 2, 3, 1]);
}

#[test]
fn copies_do_not_go_round_in_circles() {
    let same = Array2::zeros((6, 2));
    let all = from_lists(&(0..6).map(|i| (0..6).filter(|&j| j != i).collect()).collect::<Vec<_>>());
    let found = tree(&lengths(&same, &all), 3);
    assert_eq!(found.order, [3, 0, 1, 2, 4, 5]);
    assert_eq!(found.predecessors[..4], [Some(3), Some(3), Some(3), None]);
}

#[test]
fn edges_are_as_long_both_ways() {
    let x = gaussian(300, 5, 2);
    let graph = lengths(&x, &knn(&x, 6));
    for i in 0..300 {
        for (j, length) in graph.adjacent(i) {
            assert!(graph.adjacent(j as usize).any(|back| back == (i as u32, length)));
        }
    }
}

#[test]
fn many_sources_are_the_same_on_any_number_of_threads() {
    let x = gaussian(2000, 3, 7);
    let (graph, sources) = (lengths(&x, &knn(&x, 8)), (0..2000).step_by(37).collect::<Vec<u32>>());
    let all =
        || from_each(&graph, &sources, "paths", &Unmonitored, || (), |_, tree| said(&graph, tree)).unwrap();
    let one = on_threads(1, all);
    for threads in [2, 5] {
        assert_eq!(on_threads(threads, all), one);
    }
    for (&source, found) in sources.iter().zip(&one).step_by(9) {
        assert_eq!(&tree(&graph, source as usize), found);
    }
}

/// Stops after so many looks.
struct StopAfter(AtomicUsize);

impl Monitor for StopAfter {
    fn stop_requested(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn it_stops_within_one_source_and_can_begin_again() {
    let x = gaussian(30_000, 2, 3);
    let graph = lengths(&x, &knn(&x, 8));
    let mut stopped = Tree::default();
    for looks in [3, 1, 5, 0] {
        let monitor = StopAfter(AtomicUsize::new(looks));
        assert_eq!(stopped.grow(&graph, 7, &monitor).unwrap_err(), Error::Interrupted);
        assert!(stopped.order().len() <= looks * 2048);
    }
    stopped.grow(&graph, 9, &Unmonitored).unwrap();
    assert_eq!(said(&graph, &stopped), tree(&graph, 9));
}

#[test]
fn points_and_graph_must_belong_together() {
    let (x, y) = (gaussian(20, 2, 1), gaussian(19, 2, 1));
    let error = Lengths::new(&points(&y), &knn(&x, 3), &Unmonitored).unwrap_err();
    assert_eq!(error.to_string(), "X has 19 rows, but the neighborhood graph has 20");
}
