// oneDNN's time of single products and convolutions, for tools/dev/bench_peers.sh.
//
// Reads lines from standard input and answers each with the seconds of one op, the least of many:
//   product ROWS TERMS COLUMNS COPIES SECONDS
//   conv IMAGES CHANNELS HEIGHT WIDTH FILTERS WINDOW STRIDE PAD GROUPS COPIES SECONDS
// COPIES filters or right sides are used in turn, so that those of the next op are not in a cache.
// Formats are those that oneDNN likes best; what it takes to get there is not counted.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dnnl.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace dnnl;
using Dims = memory::dims;
using Tag = memory::format_tag;
constexpr auto f32 = memory::data_type::f32;

namespace {

memory filled(const memory::desc &desc, const engine &cpu) {
  memory made(desc, cpu);
  auto *data = static_cast<float *>(made.get_data_handle());
  for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i)
    data[i] = 0.001f * static_cast<float>(static_cast<int>(i * 7919 % 2003) - 1000);
  return made;
}

/// Seconds of one op: the least over rounds through all copies.
double timeOf(const primitive &op, const memory &source, const std::vector<memory> &weights,
              const memory &target, double seconds, stream &queue) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double least = 1e9;
  const auto begin = Clock::now();
  for (int round = 0; round < 5 || since(begin) < seconds; ++round) {
    const auto start = Clock::now();
    for (const memory &each : weights)
      op.execute(queue, {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, each}, {DNNL_ARG_DST, target}});
    queue.wait();
    least = std::min(least, since(start) / static_cast<double>(weights.size()));
  }
  return least;
}

template <typename Descriptor, typename Primitive>
double measure(const Descriptor &chosen, long copies, double seconds, const engine &cpu) {
  stream queue(cpu);
  std::vector<memory> weights;
  for (long i = 0; i < copies; ++i)
    weights.push_back(filled(chosen.weights_desc(), cpu));
  return timeOf(Primitive(chosen), filled(chosen.src_desc(), cpu), weights,
                filled(chosen.dst_desc(), cpu), seconds, queue);
}

double product(std::istream &in, const engine &cpu) {
  long rows, terms, columns, copies;
  double seconds;
  in >> rows >> terms >> columns >> copies >> seconds;
  const matmul::desc wanted({{rows, terms}, f32, Tag::ab}, {{terms, columns}, f32, Tag::any},
                            {{rows, columns}, f32, Tag::ab});
  return measure<matmul::primitive_desc, matmul>({wanted, cpu}, copies, seconds, cpu);
}

double convolution(std::istream &in, const engine &cpu) {
  long images, channels, height, width, filters, window, stride, pad, groups, copies;
  double seconds;
  in >> images >> channels >> height >> width >> filters >> window >> stride >> pad >> groups >>
      copies >> seconds;
  const long high = (height + 2 * pad - window) / stride + 1;
  const long wide = (width + 2 * pad - window) / stride + 1;
  Dims kernel{filters, channels, window, window};
  if (groups > 1)
    kernel = {groups, filters / groups, channels / groups, window, window};
  const convolution_forward::desc wanted(
      prop_kind::forward_inference, algorithm::convolution_direct,
      {{images, channels, height, width}, f32, Tag::any}, {kernel, f32, Tag::any},
      {{images, filters, high, wide}, f32, Tag::any}, {stride, stride}, {pad, pad}, {pad, pad});
  return measure<convolution_forward::primitive_desc, convolution_forward>({wanted, cpu}, copies,
                                                                           seconds, cpu);
}

} // namespace

int main() {
  const engine cpu(engine::kind::cpu, 0);
  const dnnl_version_t *version = dnnl_version();
  std::printf("oneDNN %d.%d.%d\n", version->major, version->minor, version->patch);
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string kind;
    in >> kind;
    std::printf("%.9g\n", kind == "product" ? product(in, cpu) : convolution(in, cpu));
    std::fflush(stdout);
  }
}
