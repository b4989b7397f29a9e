// Clusters by joining edges, largest first, as Kruskal's algorithm does, up to a cap on the work of
// one cluster.
#include "Clusters.h"

#include "Starts.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace gantry::placement {

namespace {
struct Edge {
  uint64_t bytes;
  uint32_t from, to; ///< atoms
};

/// Edges between different atoms, the dearest first.
std::vector<Edge> edgesByBytes(const OrderedGraph &graph) {
  std::vector<Edge> edges;
  for (uint32_t value = 0; value < graph.numValues(); ++value) {
    if (graph.maker[value] == noIndex)
      continue;
    uint32_t from = graph.atom[graph.maker[value]];
    for (uint32_t reader : graph.readers[value])
      if (uint32_t to = graph.atom[reader]; to != from)
        edges.push_back({graph.bytes[value], from, to});
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge &a, const Edge &b) { return a.bytes > b.bytes; });
  return edges;
}

class Joiner {
public:
  explicit Joiner(const OrderedGraph &graph) : parent(graph.atoms.size()), work(parent.size()) {
    std::iota(parent.begin(), parent.end(), 0);
    for (uint32_t place = 0; place < graph.numTasks(); ++place) {
      std::span<const double> seconds = graph.secondsOf(place);
      work[graph.atom[place]] += *std::min_element(seconds.begin(), seconds.end());
    }
  }

  double totalWork() const { return std::accumulate(work.begin(), work.end(), 0.0); }

  void join(uint32_t a, uint32_t b, double cap) {
    a = find(a);
    b = find(b);
    if (a == b || work[a] + work[b] > cap)
      return;
    if (b < a)
      std::swap(a, b);
    parent[b] = a;
    work[a] += work[b];
  }

  /// Clusters of two and more, by their first atoms.
  std::vector<Cluster> clusters() {
    std::vector<Cluster> of(parent.size()), result;
    for (uint32_t atom = 0; atom < parent.size(); ++atom)
      of[find(atom)].push_back(atom);
    for (Cluster &cluster : of)
      if (cluster.size() > 1)
        result.push_back(std::move(cluster));
    return result;
  }

private:
  uint32_t find(uint32_t atom) {
    while (parent[atom] != atom)
      atom = parent[atom] = parent[parent[atom]];
    return atom;
  }

  std::vector<uint32_t> parent;
  std::vector<double> work; ///< seconds on the best devices, of roots
};

/// Joins tasks that have one reader with it, when they are all that it reads.
void joinChains(const OrderedGraph &graph, Joiner &joiner) {
  for (uint32_t place = 0; place < graph.numTasks(); ++place) {
    uint32_t only = noIndex, makers = 0;
    for (uint32_t value : graph.inputs[place])
      if (graph.maker[value] != noIndex) {
        only = value;
        ++makers;
      }
    if (makers == 1 && graph.readers[only].size() == 1)
      joiner.join(graph.atom[graph.maker[only]], graph.atom[place], notAllowed);
  }
}
/// Tasks that share a large constant: apart, two devices need it.
std::vector<Cluster> readersOfShared(const OrderedGraph &graph) {
  std::vector<Cluster> clusters;
  for (uint32_t value : sharedConstants(graph)) {
    Cluster cluster;
    for (uint32_t reader : graph.readers[value])
      cluster.push_back(graph.atom[reader]);
    std::sort(cluster.begin(), cluster.end());
    cluster.erase(std::unique(cluster.begin(), cluster.end()), cluster.end());
    if (cluster.size() > 1)
      clusters.push_back(std::move(cluster));
  }
  return clusters;
}
} // namespace

std::vector<std::vector<Cluster>> clusterLevels(const OrderedGraph &graph) {
  std::vector<std::vector<Cluster>> levels;
  std::set<std::pair<uint32_t, uint64_t>> known; // first atom, and a hash of all of them
  auto addLevel = [&](std::vector<Cluster> clusters) {
    std::erase_if(clusters, [&](const Cluster &cluster) {
      uint64_t hash = 0;
      for (uint32_t atom : cluster)
        hash = (hash ^ atom) * 0x100000001b3;
      return cluster.size() == graph.atoms.size() || !known.emplace(cluster.front(), hash).second;
    });
    if (!clusters.empty())
      levels.push_back(std::move(clusters));
  };
  std::vector<Edge> edges = edgesByBytes(graph);
  for (int parts : {2, 4, 8, 16, 32, 64}) {
    Joiner joiner(graph);
    double cap = joiner.totalWork() / parts;
    for (const Edge &edge : edges)
      joiner.join(edge.from, edge.to, cap);
    addLevel(joiner.clusters());
  }
  Joiner joiner(graph);
  joinChains(graph, joiner);
  addLevel(joiner.clusters());
  addLevel(readersOfShared(graph));
  std::vector<Cluster> atoms;
  for (uint32_t atom = 0; atom < graph.atoms.size(); ++atom)
    atoms.push_back({atom});
  if (atoms.size() > 1)
    levels.push_back(std::move(atoms));
  else if (!atoms.empty())
    levels.push_back({{0}});
  return levels;
}

} // namespace gantry::placement
