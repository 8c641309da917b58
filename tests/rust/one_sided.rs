//! Experiment.
use ndarray::Array2;
use unbend::charts::{Atlas, Net, tangent_scale};
use unbend::embed::align::{Connection, tree};
use unbend::synthetic::*;
use unbend::{Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::shapes::*;

fn det(p: &[f64], d: usize) -> f64 {
    nalgebra::DMatrix::from_column_slice(d, d, p).determinant()
}
fn least(p: &[f64], d: usize) -> f64 {
    nalgebra::DMatrix::from_column_slice(d, d, p).singular_values().min()
}

fn root(parent: &mut [u32], turned: &mut [bool], mut i: u32) -> (u32, bool) {
    let mut t = false;
    while parent[i as usize] != i {
        let up = parent[i as usize];
        if parent[up as usize] != up {
            turned[i as usize] ^= turned[up as usize];
            parent[i as usize] = parent[up as usize];
        }
        t ^= turned[i as usize];
        i = parent[i as usize];
    }
    (i, t)
}

fn report(name: &str, x: &Array2<f64>, k: usize, d: usize) {
    let points = Points::new("X", x.view(), &Unmonitored).unwrap();
    let graph = neighbors::nearest(&points, k, Search::Auto, &Unmonitored).unwrap().neighborhoods;
    let scale = tangent_scale(&points, &graph, d, 0, &Unmonitored).unwrap();
    for s in [None, scale] {
        if s.is_none() && scale.is_some() { print!("  (narrow) "); }
        let net = s.map(|s| Net::new(&points, d, s, 0, &Unmonitored).unwrap());
        let atlas = Atlas::new(&points, &graph, net.as_ref(), d, &Unmonitored).unwrap();
        let c = Connection::new(&atlas, &Unmonitored).unwrap();
        let found = tree(&c, &atlas, &Unmonitored).unwrap();
        let n = x.nrows();
        let total = graph.indices().len();
        // signed sure edges
        let mut sign = vec![0i8; c.graph().indices().len()];
        for e in 0..sign.len() {
            let p = c.product(e);
            if least(p, d) >= 0.7 { sign[e] = if det(p, d) < 0.0 { -1 } else { 1 }; }
        }
        let look = |i: usize, j: usize| -> i8 {
            c.graph().of(i).binary_search(&(j as u32)).map_or(0, |at| sign[c.edges(i).start + at])
        };
        let closing = |i: usize, j: usize| -> (usize, usize) {
            let own = look(i, j);
            let (mut good, mut all) = (0, 0);
            for e in c.edges(i) {
                let other = look(c.end(e), j);
                if sign[e] != 0 && other != 0 && c.end(e) != j {
                    all += 1;
                    good += usize::from(sign[e] * other == own);
                }
            }
            (good, all)
        };
        let sup = |(g, a): (usize, usize)| a > 0 && 10 * g >= 9 * a;
        let supported = found.reflecting.iter().filter(|&&(i, j)| sup(closing(i as usize, j as usize))).count();
        // second pass
        let mut edges = vec![];
        let (mut sure, mut und, mut tg, mut ta) = (0, 0, 0, 0);
        for i in 0..n {
            for e in c.edges(i).filter(|&e| c.end(e) > i) {
                und += 1;
                if sign[e] == 0 { continue; }
                sure += 1;
                let cl = closing(i, c.end(e));
                tg += cl.0; ta += cl.1;
                if sup(cl) { edges.push((1.0 - least(c.product(e), d), i as u32, c.end(e) as u32, sign[e] < 0)); }
            }
        }
        edges.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut parent, mut turned): (Vec<u32>, Vec<bool>) = ((0..n as u32).collect(), vec![false; n]);
        let mut again = 0;
        for &(_, i, j, r) in &edges {
            let ((a, s), (b, t)) = (root(&mut parent, &mut turned, i), root(&mut parent, &mut turned, j));
            if a == b { again += usize::from((s ^ t) != r); } else {
                parent[a.max(b) as usize] = a.min(b);
                turned[a.max(b) as usize] = s ^ t ^ r;
            }
        }
        println!("{name:28} n {n:6} k {k:2} d {d} scale {s:?}: reflecting {} share {:.5} /sqrt n {:.2} | supported {} | sure {:.3} sup/sure {:.3} tri {:.4} | again {again} share {:.5}  /sqrt(n) {:.2} | aligned {:.3}",
            found.reflecting.len(), found.reflecting.len() as f64 / total as f64, found.reflecting.len() as f64 / (n as f64).sqrt(), supported, sure as f64 / und as f64, edges.len() as f64 / sure.max(1) as f64, tg as f64 / ta.max(1) as f64,
            again as f64 / edges.len().max(1) as f64, again as f64 / (n as f64).sqrt(), found.aligned.aligned);
        if scale.is_none() { break; }
    }
}

#[test]
#[ignore]
fn experiment() {
    let u = &Unmonitored;
    println!("--- one-sided");
    for k in [6, 10, 15] {
        for (n, w) in [(600, 0.4), (600, 0.8), (2000, 0.1), (2000, 0.66), (5000, 0.2), (5000, 0.66), (20000, 0.66), (100000, 0.66), (100000, 0.1)] {
            report(&format!("moebius {w}"), &moebius(n, w, 1), k, 2);
        }
        for n in [1500, 5000, 20000] {
            report("klein", &klein_bottle(n, 0.5, 1), k, 2);
        }
    }
    report("moebius noisy .02", &noisy(&moebius(5000, 0.66, 1), 0.02, 2), 12, 2);
    report("moebius noisy .05", &noisy(&moebius(5000, 0.66, 1), 0.05, 2), 12, 2);
    report("moebius noisy .05", &noisy(&moebius(50000, 0.66, 1), 0.05, 2), 12, 2);
    println!("--- two-sided");
    for k in [6, 10, 15] {
        for n in [200, 800, 5000, 20000] {
            report("annulus", &annulus(n, 0.5, 1), k, 2);
            report("cylinder", &cylinder(n, 1.0, 0.0, 1, u).unwrap().x, k, 2);
            report("cylinder thin", &cylinder(n, 0.2, 0.0, 1, u).unwrap().x, k, 2);
            report("hemisphere", &hemisphere(n, 0.0, 1, u).unwrap().x, k, 2);
            report("sphere", &sphere(n, 1), k, 2);
            report("torus .5", &torus(n, 0.5, 1), k, 2);
            report("torus .2", &torus(n, 0.2, 1), k, 2);
            report("roll", &swiss_roll(n, &SwissRoll::default(), 1, u).unwrap().x, k, 2);
            report("s curve", &s_curve(n, 0.0, 1, u).unwrap().x, k, 2);
            report("roll .3", &swiss_roll(n, &SwissRoll { noise: 0.3, ..Default::default() }, 1, u).unwrap().x, k, 2);
            report("roll .6", &swiss_roll(n, &SwissRoll { noise: 0.6, ..Default::default() }, 1, u).unwrap().x, k, 2);
            report("torus noisy .05", &noisy(&torus(n, 0.5, 1), 0.05, 2), k, 2);
            report("sphere noisy .05", &noisy(&sphere(n, 1), 0.05, 2), k, 2);
            report("cylinder noisy .1", &cylinder(n, 1.0, 0.1, 1, u).unwrap().x, k, 2);
            report("cloud 3", &gaussian(n, 3, 4), k, 2);
            if n <= 5000 {
                report("cloud 5", &gaussian(n, 5, 4), k, 2);
                report("cloud 5", &gaussian(n, 5, 4), k, 3);
                report("cloud 10", &gaussian(n, 10, 4), k, 1);
                report("cloud 50", &gaussian(n, 50, 4), k, 2);
            }
        }
    }
}
