"""Attributes of all fitted estimators: their types and texts."""

from __future__ import annotations

from ...core.parameters import entries, table

__all__ = ["ATTRIBUTES", "DISTANCES", "LINEAR", "NORMALIZED", "ON_GRAPH", "PROCRUSTES"]

ON_GRAPH = (
    "embedding_",
    "neighborhoods_",
    "faithfulness_",
    "component_labels_",
    "trace_",
    "timings_",
    "X_fit_",
    "n_neighbors_",
    "n_features_in_",
    "feature_names_in_",
)
"""Attributes of the estimators that embed a neighborhood graph."""

PROCRUSTES = (
    *ON_GRAPH,
    "tangent_neighbors_",
    "groups_",
    "refinement_",
    "n_iter_",
    "cut_pairs_",
    "cut_",
    "seams_",
    "short_circuits_",
    "outliers_",
    "orientable_",
    "closed_",
    "euler_characteristic_",
    "surface_",
    "candidates_",
    "verdict_",
)
"""Attributes of the estimators that refine and cut: GreedyProcrustes and ProcrustesAlignment."""

NORMALIZED = (*ON_GRAPH, "eigenvalues_", "maps_")
"""Attributes of the family that normalizes its output, from LLE to diffusion maps."""

LINEAR = ("embedding_", "timings_", "n_features_in_", "feature_names_in_")
"""Attributes of the estimators without a neighborhood graph."""

DISTANCES = (
    *LINEAR,
    "pairs_",
    "distances_",
    "weights_",
    "residuals_",
    "component_labels_",
    "stress_",
    "normalized_stress_",
    "n_iter_",
    "candidates_",
    "ambiguity_",
    "triangle_inequalities_",
    "verdict_",
    "trace_",
)
"""Attributes of the estimator of measured distances, GraphScaling."""

ATTRIBUTES = table(
    *entries(
        """
        embedding_ : ndarray of shape (n, d)
            Embedding of the input data, in units of the data. Connected components are centered, rotated to
            their principal axes and set side by side, the largest first.
        neighborhoods_ : Neighborhoods
            Neighborhoods of the input data.
        faithfulness_ : Faithfulness
            Faithfulness of the embedding to the neighborhoods of the input data.
        component_labels_ : ndarray of shape (n,)
            Connected component of each point.
        trace_ : dict
            Record of the computation.
        timings_ : dict of float
            Seconds spent in each stage.
        X_fit_ : ndarray of shape (n, q)
            Input data, not copied: do not change them while you use the estimator.
        n_neighbors_ : int
            Number of fitted points from which `transform` places a new point.
        n_features_in_ : int
            Number of columns of X.
        feature_names_in_ : ndarray of str
            Names of the columns of X. Only defined if X is a data frame whose column names are all text.
        tangent_neighbors_ : int
            Number of neighbors from which each tangent space was estimated.
        refinement_ : Refinement or None
            Result of the refinement; None if it was skipped.
        n_iter_ : int
            Number of refinement steps.
        cut_pairs_ : ndarray of shape (m, 2)
            Pairs of neighbors in the data that the cut separates; empty without a cut.
        cut_ : ndarray of bool, shape (n,)
            Mask of the points along the cut.
        seams_ : list of Seam
            Arcs of the cut, each with its partner.
        short_circuits_ : ndarray of shape (m, 2)
            Pairs of neighbors in the data that the embedding of a cleaned graph tears or that join an outlier.
            Measures leave them out. Empty if the graph was embedded as it is, or if the verdict is not to trust
            the embedding.
        outliers_ : ndarray of uint32
            Indices of the points that were left out of the graph and placed by their neighbors; empty unless
            the embedding is trusted.
        orientable_ : bool or None
            True if the surface has two sides. None if this was not examined.
        closed_ : bool or None
            True if the surface has no boundary. None if this was not examined.
        euler_characteristic_ : int or None
            Euler characteristic of the surface. None if it is not known; it is computed for connected
            surfaces only.
        surface_ : str
            Description of the surface in a few words.
        candidates_ : list of TriedEmbedding
            Embeddings that were tried, with the evidence for each. The first is that of the graph as it is.
        verdict_ : FitVerdict
            Verdict on the embedding as a whole: if it can be trusted, and why not, in numbers and words.
        loops_ : ndarray of shape (m, 2)
            Pairs of neighbors whose frames differ by more than 30 degrees after the alignment. A loop
            through such a pair comes back rotated or reflected. Many pairs come from the seam of a closed
            surface or from curvature; a few are short circuits of the graph.
        alignment_ : str
            Alignment method of the embedding that was kept; "guess" if the first frames are those of
            :class:`unbend.GraphScaling`, from distances with gaps.
        groups_ : ndarray of shape (n,) or None
            Number of the group of each point, in the order of their labels; None without groups.
        residual_variance_ : float
            1 - rho^2, where rho is the correlation of geodesic distances and distances in the embedding,
            over all pairs of connected points. With landmarks, over pairs of a landmark and one of up to
            10,000 points. 0 is perfect.
        reconstruction_error_ : float
            Root mean square of the difference between the doubly centered squared distances and those of
            the embedding, as in scikit-learn, in squared units of the data. With landmarks, over pairs of
            landmarks. 0 is perfect.
        landmark_distances_ : ndarray of float32, shape (n_landmarks, n), or None
            Geodesic distances from the landmarks, in units of the longest edge; infinite between
            components. None without landmarks.
        mean_squares_ : ndarray of shape (n_landmarks,)
            Mean squared distance from each landmark to the landmarks of its component, in units of the
            longest edge.
        axes_ : ndarray of shape (n_landmarks, d)
            Matrix that maps squared distances from landmarks, minus `mean_squares_`, to coordinates.
        offsets_ : ndarray of shape (number of components, d)
            Center of each connected component in the embedding.
        spread_ : ndarray of shape (n,) or None
            Mean distance M(i) from each point to its neighbors; None unless `conformal`.
        maps_ : ndarray of shape (number of components, d, d) or None
            Linear map of each connected component; None unless `rectify`.
        mean_ : ndarray of shape (q,)
            Mean of the input data.
        singular_values_ : ndarray of shape (min(n, q),)
            Singular values of the centered data.
        explained_variance_ : ndarray of shape (d,)
            Variance along each axis, with n - 1 in the denominator.
        explained_variance_ratio_ : ndarray of shape (d,)
            Variance along each axis, as a share of the total variance.
        correlations_ : ndarray of shape (q, d)
            Correlation of each variable with each component; 0 for a constant variable. Each row is a point
            of the unit ball. The embedding shows a variable completely if its row lies on the surface of
            the ball.
        n_components_ : int
            Dimension d of the embedding.
        distortion_ : float
            Largest factor by which a distance is stretched or shrunk, over all pairs of points up to 10,000
            pairs, and over a random sample of 10,000 of more. 1 is perfect. If the lemma holds, it is below
            1 / sqrt(1 - eps).
        distortion_share_ : float
            Share of these pairs whose squared distance changes by a share of more than `eps`.
        means_ : ndarray
            Mean of the landmarks, or mean squared distance from each landmark to the others.
        """
    ),
    procrustes=entries(
        """
        X_fit_ : ndarray of shape (n, q), or sparse array of shape (n, n)
            Input data, not copied: do not change them while you use the estimator. With metric="precomputed",
            the symmetric matrix of the measured distances.
        faithfulness_ : Faithfulness
            Faithfulness of the embedding to the neighborhoods of the input data, without the pairs of
            neighbors that a cut separates or that are short circuits.
        """
    ),
    GreedyProcrustes=entries(
        """
        trace_ : dict
            Record of the greedy steps: "r_n" of each start, if there are several (of more than 65,536 points
            of a connected graph, that of evenly spaced neighborhoods); "kept", the start that each connected
            component keeps; and "traces", for each start the number of "steps", the points
            in all "overlap" together, and how many neighborhoods were postponed ("waits"), placed by a
            neighboring tangent space for lack of overlap ("forced") or reached points from the
            "other_side".
        """
    ),
    ProcrustesAlignment=entries(
        """
        trace_ : dict
            Record of each alignment: "f" of eq. 9, its "trace" over the sweeps, and the share of points
            "aligned" in the largest cluster; for eq. 11 the "residual", the number of steps "n_solve", and
            "converged"; if several alignments were tried, "r_n" and "overlap". With `partition`, the number
            of "cells", the largest "overlap_error" between them before the seams were corrected, and the
            "history" of that error.
        """
    ),
    Isomap=entries(
        """
        n_neighbors_ : int
            Number of fitted points that `transform` joins a new point to; with `radius`, the mean number of
            neighbors.
        landmarks_ : ndarray of uint32
            Indices of the points from which shortest paths were computed, in rising order; all points by
            default.
        trace_ : dict
            "components" lists, for each scaled connected component, the largest first, its number of
            "landmarks" and its "eigenvalues" in squared units of the data: all of them for up to 300
            landmarks, else the largest.
        """
    ),
    normalized=entries(
        """
        embedding_ : ndarray of shape (n, d)
            Embedding of the input data. The columns have mean 0 and variance 1, and are uncorrelated.
            Connected components are set side by side, the largest first.
        eigenvalues_ : ndarray
            Smallest eigenvalues of the largest connected component, except that of the constant vector:
            those of the d coordinates, and the next one.
        trace_ : dict
            "components" lists, for each connected component, the largest first, its "eigenvalues", its
            "residuals" as shares of the norm of the matrix, its "gap", its "doubt" (angle by which the
            space of the coordinates may be wrong) and its "solver".
        """
    ),
    LaplacianEigenmaps=entries(
        """
        embedding_ : ndarray of shape (n, d)
            Embedding of the input data. The columns have mean 0 and variance 1, weighted by the degrees of
            the graph. Connected components are set side by side, the largest first.
        """
    ),
    DiffusionMaps=entries(
        """
        embedding_ : ndarray of shape (n, d)
            Embedding of the input data. Column p has mean 0 and variance lambda_p^(2 time), weighted by the
            degrees of the graph. Connected components are set side by side, the largest first.
        """
    ),
    MaximumVarianceUnfolding=entries(
        """
        eigenvalues_ : ndarray
            Eigenvalues of the inner products of the largest connected component, in falling order and squared
            units of the data. Those beyond the first d were left out.
        landmarks_ : ndarray of uint32
            Indices of the points from which all others are reproduced, in rising order.
        trace_ : dict
            "components" lists, for each connected component, the largest first, the number of "landmarks", of
            "constraints" that were needed, and of "rounds" in which these were added.
        """
    ),
    SuccessiveEigenmaps=entries(
        """
        embedding_ : ndarray of shape (n, d)
            Embedding of the input data. The columns have mean 0 and variance 1, weighted by the degrees of
            their graphs. Connected components are set side by side, the largest first.
        eigenvalues_ : ndarray of shape (d,)
            First eigenvalue of the graph of each coordinate, for the largest connected component.
        trace_ : dict
            "components" lists, for each connected component, the largest first, the "n_neighbors" of the graph
            of each coordinate, and the number of advection "steps" after each but the last.
        """
    ),
    RiemannianLearning=entries(
        """
        bases_ : ndarray of uint32
            Index of the base of each connected component.
        trace_ : dict
            "bases" lists the base of each connected component.
        """
    ),
    PCA=entries(
        """
        embedding_ : ndarray of shape (n, d)
            Coordinates of the points along the axes, relative to the mean, in units of the data.
        components_ : ndarray of shape (d, q)
            Axes, orthonormal, in falling order of variance. The largest entry of each is positive.
        """
    ),
    RandomProjection=entries(
        """
        embedding_ : ndarray of shape (n, d)
            Projected input data.
        components_ : ndarray or csr_array of shape (d, q)
            Matrix of the projection.
        signs_ : ndarray of shape (q,) or None
            With kind="hadamard", the signs by which the columns of X are multiplied.
        rows_ : ndarray of shape (d,) or None
            With kind="hadamard", the rows of the transform that are taken.
        """
    ),
    SplitScaling=entries(
        """
        embedding_ : ndarray of shape (n, d)
            Embedding of the fitted points, in units of their distances.
        landmarks_ : ndarray of uint32
            Indices of the points of the first group, or of the sample, by which new points are placed.
        components_ : ndarray of shape (d, n_landmarks)
            Matrix that maps squared distances to the landmarks to coordinates.
        means_ : ndarray of shape (n_landmarks,)
            Mean squared distance from each landmark to the others.
        mismatch_ : float
            Root mean square distance between the two places of a point that two groups share, or that is in
            the sample. 0 if the distances are Euclidean in d dimensions.
        """
    ),
    GraphScaling=entries(
        """
        pairs_ : ndarray of int, shape (m, 2)
            Pairs of points with a measured distance, the lower index first, each pair once.
        distances_ : ndarray of shape (m,)
            Distance of each pair, the weighted mean if it was measured several times.
        weights_ : ndarray of shape (m,)
            Weight of each pair in the stress.
        residuals_ : ndarray of shape (m,)
            Distance in the embedding minus the measured one.
        stress_ : float
            Raw stress: sum of w_ij (dist(y_i, y_j) - d_ij)^2 over the pairs. scikit-learn's `stress_` is the
            same for a full matrix.
        normalized_stress_ : float
            Root of the stress as a share of the sum of w_ij d_ij^2: the relative error of the distances.
        n_iter_ : int
            Number of steps of the minimization that was kept; the largest of all connected components.
        candidates_ : list of TriedStart
            Starts that were tried in each connected component, with the stress that each led to.
        ambiguity_ : Ambiguity
            Points that the distances do not fix: loose ones, parts that move, and parts that can be
            reflected.
        triangle_inequalities_ : TriangleInequalities
            Distances that are longer than the shortest path of the others. No points have them all.
        verdict_ : ScalingVerdict
            Verdict on the embedding as a whole: if it can be trusted, and why not, in numbers and words.
        trace_ : dict
            "history" is the stress before the first step and after each, for every connected component with
            a pair, the largest first.
        n_features_in_ : int
            Number of points.
        """
    ),
    ClassicalScaling=entries(
        """
        embedding_ : ndarray of shape (n, d)
            Embedding of the input data. A column is zero if there is no positive eigenvalue for it.
        eigenvalues_ : ndarray
            Eigenvalues of -1/2 H D^2 H in falling order. For Euclidean data, all that can be positive; for
            up to 300 distances, all; for more, the largest d, and the lowest as the last entry. Negative
            eigenvalues mean that no points have these distances. A :class:`NotEuclideanWarning` is issued
            if the lowest is larger in magnitude than the smallest one used.
        landmarks_ : ndarray of uint32
            Indices of the points that were scaled, in rising order.
        components_ : ndarray of shape (d, q), or (d, n_landmarks)
            Matrix that maps points, or squared distances to the landmarks, to coordinates.
        """
    ),
)
"""Attributes by class; the scopes "procrustes" and "normalized" are those of two families."""
