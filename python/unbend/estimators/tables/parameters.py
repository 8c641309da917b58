"""Parameters of all estimators: their texts, and the kinds of values that they accept."""

from __future__ import annotations

from dataclasses import replace

from ...core.kinds import (
    boolean,
    choice,
    count,
    function,
    memory_limit,
    non_negative,
    number,
    optional,
    positive,
    seed,
    word_or,
)
from ...core.parameters import entries, table
from ...core.shared_parameters import SHARED
from ...fit.procrustes.kinds import KINDS

__all__ = ["METRICS", "PARAMETERS"]

proportion = number(lambda v: 0 < v < 1, "between 0 and 1")

METRICS = (
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "hamming", "haversine"),
    *("jaccard", "manhattan"),
)
"""Metrics of scikit-learn without parameters of their own, other than the Euclidean one."""

PARAMETERS = table(
    *SHARED,
    *entries(
        """
        n_components
            Dimension d of the embedding, at most the number of columns of X. :func:`unbend.dimension`
            estimates it.
        n_neighbors : int, default 12
            Number of nearest neighbors per point, not counting the point itself. None means 12, or all
            other points if there are fewer. Raise it for noisy data. Lower it if short circuits of the
            graph join parts of the surface that are far apart.
        n_init
            Number of starting points. Each connected component keeps the embedding with the lowest R_N.
            More starts take more time; raise the number if R_N differs between seeds.
        tangent
            "neighborhood" estimates the tangent space of each neighborhood from all its points, and rotates
            the neighborhood within it. "overlap" rotates by the points that are placed already. "paper" does
            so to the letter: a neighborhood is placed at once, even if these points leave its side open.
        tangent_neighbors
            Number of neighbors from which each tangent space is estimated. By default those of the graph,
            or as many more as are needed if noise hides the tangent space from them. Raise it for noisy
            data.
        start
            Index of the first starting point. By default all starting points are random.
        alignment
            Method that aligns the tangent spaces. "tree" follows the spanning tree of the neighbors whose
            tangent spaces agree best, and then sweeps over all points. "spectral" takes the top
            eigenvectors of the connection matrix; it suits compact curved surfaces, and fails for elongated
            ones. "projection" starts from the principal components of X. "anneal" is the paper's simulated
            annealing, followed by sweeps; it is slow. "paper" is annealing alone. "auto" tries "tree",
            "projection" and, up to 20,000 points, "spectral", and keeps the best embedding.
        annealing
            Settings of "anneal" and "paper". "start" is "random" (the default), "tree" or "greedy"; with the
            latter two, a low "acceptance" keeps the start. "acceptance" (0.5) is the share of worsening moves
            accepted at first. "accepted" (100) and "tried" (500) are the moves per point after which a
            stage ends. "cooling" (0.97) is the factor on the temperature after each stage. "anew" (0.5) is
            the share of moves that draw a random frame instead of rotating the current one a little; 1 with
            "paper".
            Annealing ends when the largest cluster of aligned points has a share of "enough" (0.99) of the
            points, or after "rounds" (5) rounds.
        overlap_penalty
            With alignment="auto", weight of the overlap of an embedding, added to its R_N. R_N does not see
            overlap, so raise the weight if an embedding that overlaps itself is chosen.
        solve_tol
            Tolerance of the linear system of eq. 11: maximum residual, as a share of the right-hand side.
            Raise it to save time; lower it for a more exact solution.
        refine
            Method that refines the embedding, as in :func:`unbend.refine`; None skips this step. "auto" is
            "global".
        objective
            Measure that refinement minimizes. "R_N" weights all neighborhoods equally; "R" weights them by
            size.
        refine_max_iter
            Maximum number of refinement steps. Raise it if `refinement_` has the status "max_iter".
        refine_tol
            Refinement ends when a step lowers the objective by less than this share. Lower it for a better
            embedding, at the price of more steps.
        neighbors_method
            Search for neighbors. "exact" always finds the nearest; "approximate" is faster for many points
            in many dimensions; "auto" is exact unless that takes long. See :func:`unbend.neighborhoods`.
        neighbors_recall
            Share of the true neighbors that an approximate search must find. A higher share takes more
            time. An exact search ignores it.
        cut
            Policy for surfaces that cannot lie flat, such as tubes, spheres and one-sided surfaces. "auto"
            cuts, in up to three dimensions, if the embedding would overlap itself, or if a cut makes it
            flat. True cuts all pairs of neighbors that are torn apart when the data are laid out from a
            central point. False never cuts. Data that lie flat are not cut.
        candidates
            "auto" tries other embeddings if the first disagrees with the data beyond single neighborhoods:
            of the graph without short circuits, of the points with less noise, and of geodesic distances.
            With refine=None, for a preview, it does not. `candidates_` lists what was tried. True always
            tries them; False never does, which saves time on noisy data and leaves the judgment to
            `verdict_`.
        partition
            Number of points per cell. The cells are embedded one after the other, which needs far less
            memory; see :func:`unbend.partition.embed`, which also reads files larger than memory. "auto"
            uses cells only if the fit would not fit into memory otherwise. Data in cells are not cut.
        disconnected
            Policy for a neighborhood graph with several connected components. "separate" embeds each on its
            own, sets them side by side and issues a :class:`DisconnectedWarning`. "error" raises a
            ValueError.
        n_landmarks
            Number of landmarks, as a random sample of the points; all points by default. Shortest paths are
            computed from landmarks only. More landmarks are more exact, and take more time and memory.
            "auto" is 200, or 20 * n_components if that is more.
        conformal
            If True, each edge (i, j) is divided by sqrt(M(i) M(j)), where M(i) is the mean distance from i
            to its neighbors (de Silva & Tenenbaum 2003). This recovers surfaces that were sampled evenly,
            and then stretched by a factor that varies from place to place but not with direction. The
            embedding has no unit then.
        weights
            Weights that reproduce a point from its neighbors. "tikhonov" is regularized (Saul & Roweis
            2003). "ldr", the low-dimensional representation, has the smallest norm among the weights that
            are best in the best plane through the neighbors (Goldberg & Ritov 2008). "convex" is
            regularized and has no negative weights.
        reg
            Regularization: constant added to the diagonal of the Gram matrix of the neighbors, as a share
            of its trace. Raise it if the weights are unstable; too large a value distorts the embedding.
        rectify
            Correction of the normalization. "linear" applies the linear map with the lowest R_N, as
            :func:`rectify` finds it, which restores the unit and the proportions of the data. True also
            runs :func:`refine` after it. If a dimension is lost, a :class:`CollapsedWarning` is issued,
            and refinement is skipped.
        include_self
            If True, each point belongs to its own neighborhood, as in the paper. scikit-learn uses False.
            With False, the position of a point that is no neighbor of any other is undetermined, and a
            :class:`GapWarning` is issued.
        kernel
            Weight of an edge: 1 for "window", and exp(-distance^2 / eps) for "heat".
        eps
            Scale of the heat kernel, in squared units of the data. By default the median squared distance
            to the last neighbor. Raise it to weight distant neighbors more.
        alpha
            Power of the density by which weights are divided. 1 removes the influence of the density, 0
            keeps it.
        time
            Number of steps of the random walk. Coordinate p is multiplied by lambda_p^time, where lambda_p
            is its eigenvalue, so a larger number shrinks the later coordinates.
        kind
            Kind of random matrix. "gaussian" has normal entries. "sparse" has two thirds of zeros, and one
            number with either sign (Achlioptas 2003); it needs a third of the memory and time.
            "kane-nelson" has a share of `eps` of such entries, equally many in each column (Kane & Nelson
            2014). "hadamard" is a transform of O(q log q) steps per point (Ailon & Chazelle 2006); it is the
            fastest for many components. The lemma is proved for the first two; `distortion_` is measured for
            all.
        failure
            Probability that some distance changes by more than `eps`. Lowering it raises the dimension that
            "auto" chooses.
        metric
            "euclidean" if `X` holds points, "precomputed" if it holds the distances between all of them.
        random_state
            Seed or generator for the random choices of the fit. With an int, each fit gives the same
            embedding.
        callback
            Function called as ``callback(stage, done, total, best)`` during the fit. If it returns True,
            the fit stops with :class:`unbend.Stopped`.
        max_memory
            Maximum memory of a fit in bytes; by default the available memory of the machine. A fit that
            needs more raises a MemoryError before it starts.
        """,
        n_components=count(),
        n_neighbors=optional(count()),
        partition=optional(word_or("auto", count(least=2))),
        disconnected=choice("separate", "error"),
        n_landmarks=optional(word_or("auto", count())),
        conformal=boolean,
        weights=choice("tikhonov", "ldr", "convex"),
        reg=non_negative,
        rectify=choice(False, True, "linear"),
        include_self=boolean,
        kernel=choice("window", "heat"),
        eps=optional(positive),
        alpha=number(lambda v: 0 <= v <= 1, "from 0 to 1"),
        time=non_negative,
        kind=choice("gaussian", "sparse", "kane-nelson", "hadamard"),
        failure=proportion,
        metric=choice("euclidean", "precomputed"),
        callback=function,
        max_memory=memory_limit,
        **KINDS,
    ),
    procrustes=entries(
        """
        metric
            "euclidean" if X holds points. "precomputed" if it holds distances: a square sparse matrix of those
            that were measured, or a full one with NaN where none was. Each neighborhood then gets coordinates
            from the distances within it. n_neighbors=None means 12 neighbors in a full matrix, and all that were
            measured, at most 50, in a sparse one.
        include_self
            If True, each point belongs to its own neighborhood. With False, tangents, eq. 11, refinement and
            `faithfulness_` leave it out; greedy steps still place it with its neighborhood, because nothing
            else would. A point that is no neighbor of any other follows its neighbors, and a
            :class:`GapWarning` is issued.
        callback
            Function called as ``callback(stage, done, total, best)`` about every 20 ms, where `best` is the
            lowest objective yet, or None. If it returns True, the fit stops: before there is an embedding,
            with :class:`unbend.Stopped`; during the refinement, with the best embedding yet, which is then
            measured.
        """,
        metric=choice("euclidean", "precomputed"),
        include_self=boolean,
        callback=function,
    ),
    GreedyProcrustes=entries(
        """
        tangent_neighbors
            Number of neighbors from which each tangent space is estimated; only with tangent="neighborhood". By
            default those of the graph, or as many more as are needed if noise hides the tangent space from
            them. Raise it for noisy data.
        random_state
            Seed or generator for the starting points. With an int, each fit gives the same embedding.
        """,
        tangent_neighbors=KINDS["tangent_neighbors"],
        random_state=seed,
    ),
    ProcrustesAlignment=entries(
        """
        refine
            Method that refines the embedding, as in :func:`unbend.refine`; None skips this step. "auto" is
            "global", but skips the step if tangent spaces come from more points than a neighborhood has:
            refinement would fit the noise then.
        objective
            The measure that eq. 11 and refinement minimize: in "R" each neighborhood counts by its size, in
            "R_N" all count equally. "R_C" is for maps that keep angles, not lengths. It takes the scale of each
            neighborhood from the density, so points must be even in the embedding, not in X, and it keeps these
            scales up to ten steps of refinement by R_C.
        random_state
            Seed or generator for annealing and for the greedy embedding that it may start from; nothing
            else is random. With an int, each fit gives the same embedding.
        """,
        refine=KINDS["refine"],
        objective=choice("R_N", "R", "R_C"),
        random_state=seed,
    ),
    MaximumVarianceUnfolding=entries(
        """
        n_landmarks : int, default 25
            Number of landmarks, as a random sample of the points of each connected component. The time grows
            with a high power of it.
        random_state
            Seed or generator for the landmarks; nothing else is random.
        """,
        n_landmarks=optional(count()),
        random_state=seed,
    ),
    Isomap=entries(
        """
        metric
            Distance of two points. "euclidean" is fastest. "precomputed": `X` holds the distances between all
            points, or is a sparse graph of distances, whose edges are all used unless `n_neighbors` or `radius` is
            given. The other metrics are those of scikit-learn, such as "manhattan" and "cosine".
        random_state
            Seed or generator for the landmarks; nothing else is random.
        """,
        metric=replace(choice("euclidean", "precomputed", *METRICS), type="str"),
        random_state=seed,
    ),
    ModifiedLLE=entries(
        """
        local_components : int, default n_components
            Dimension of the neighborhoods, d of eq. 3.7, which bounds the number of mixtures. Raise it if the
            surface has more dimensions than the embedding, or noise of its own: fewer mixtures are used then.
        reg
            Regularization, gamma of eq. 2.3: constant added to the diagonal of the Gram matrix of the
            neighbors, as a share of its trace. Raise it if the weights are unstable.
        """,
        local_components=optional(count()),
        reg=non_negative,
    ),
    HessianLLE=entries(
        """
        include_self
            If True, each point belongs to its own neighborhood. The paper and scikit-learn use False. With
            False, the position of a point that is no neighbor of any other is undetermined, and a
            :class:`GapWarning` is issued.
        """,
        include_self=boolean,
    ),
    PCA=entries(
        """
        n_components
            Dimension d of the embedding, at most the number of columns of X and the number of points.
        """,
        n_components=count(),
    ),
    RandomProjection=entries(
        """
        n_components
            Dimension d of the embedding. "auto" is the dimension that the lemma requires for `eps` and
            `failure`. If that is not below the number of columns of X, the data stay as they are, and a
            :class:`DistortionWarning` is issued.
        eps
            Share by which squared distances may change, between 0 and 1. Raising it lowers the dimension
            that "auto" chooses.
        random_state
            Seed or generator for the matrix, and for the pairs of points whose distortion is measured.
        """,
        n_components=word_or("auto", count()),
        eps=proportion,
        random_state=seed,
    ),
    SplitScaling=entries(
        """
        metric
            "precomputed": `X` holds the distances between all points. There is no other choice; tools of
            scikit-learn look for it.
        group_size
            Number of points that are scaled together. Raise it if the distances are not Euclidean.
        overlap : int, default 2 * (n_components + 1)
            Number of points that consecutive groups share, or that are sampled of each group. More make the
            joins more exact.
        combine
            Way to join groups: by the points that consecutive ones share, or by a sample of all groups that is
            scaled by itself. Errors of a chain add up; those of a sample do not.
        random_state
            Seed or generator for the order of the points. With an int, each fit gives the same embedding.
        """,
        metric=choice("precomputed"),
        group_size=count(least=2),
        overlap=optional(count()),
        combine=choice("overlap", "sample"),
        random_state=seed,
    ),
    GraphScaling=entries(
        """
        n_components
            Dimension d of the embedding.
        weighting
            Weights of the pairs in the stress. "equal" is 1 for each, "relative" is 1 / d_ij^2, which suits
            errors that are a share of the distance. Weights that are passed to `fit` are multiplied by it.
        start
            Start of the minimization. "patches" embeds small parts of the graph and aligns them; "paths"
            scales the lengths of shortest paths, which bend around holes; "random" draws `n_init` starts.
            "auto" tries "patches" and "paths". The least stress wins.
        n_init
            Number of random starts; only with start="random".
        accelerate
            If True, each step combines the last eight (L-BFGS). If False, each step is one of SMACOF, as in
            scikit-learn, and some ten times as many are needed.
        max_iter
            Maximum number of steps of each minimization. Raise it if `candidates_` says that the start that
            was chosen did not converge.
        tol
            A minimization ends when its last five steps lower the stress by less than this share per step.
        disconnected
            Policy for pairs that do not join all points. "separate" embeds each connected component on its
            own, sets them side by side and issues a :class:`DisconnectedWarning`. "error" raises a
            ValueError.
        random_state
            Seed or generator for random starts, and for the landmarks of "paths".
        """,
        n_components=count(),
        weighting=choice("equal", "relative"),
        start=choice("auto", "patches", "paths", "random"),
        n_init=count(),
        accelerate=boolean,
        max_iter=count(),
        tol=non_negative,
        disconnected=choice("separate", "error"),
        random_state=seed,
    ),
    ClassicalScaling=entries(
        """
        n_components
            Dimension d of the embedding, at most the number of points and, for Euclidean data, of columns
            of X.
        n_landmarks
            Number of landmarks, as a random sample of the points; all points by default. Only landmarks are
            scaled; the other points are placed by their distances to them. More landmarks are more exact,
            and take more time.
        random_state
            Seed or generator for the landmarks.
        """,
        n_components=count(),
        n_landmarks=optional(count()),
        random_state=seed,
    ),
)
"""Parameters by class; the scope "procrustes" is that of GreedyProcrustes and ProcrustesAlignment."""
