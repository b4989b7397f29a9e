// RUN: gantry-opt %s --gantry-emit-products --verify-diagnostics

// Who forms kernels packs only what products read.
// expected-error@+1 {{internal error: a kernel with packed constants is no product}}
func.func private @copy(%a: tensor<8x20xf32>) -> tensor<8x20xf32>
    attributes {gantry.layouts = [{columns = array<i64: 20, 1>, matrices = array<i64>, rows = array<i64: 8, 20>, width = 32 : i64}]} {
  return %a : tensor<8x20xf32>
}
