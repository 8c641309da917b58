//! Textbook versions, point clouds and surfaces that many tests share.

pub mod clouds;
pub mod naive;
pub mod shapes;
