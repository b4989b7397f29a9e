// A mark where fusion or sizes do not agree with it.
// RUN: gantry-opt %s --split-input-file --verify-diagnostics --gantry-name-library-products

gantry.kernel @shared {
^bb0(%x: tensor<32x48xf16>, %w: tensor<48x64xf16>):
  // expected-error@+1 {{internal error: it is for a library, which has no such kernel}}
  %0 = gantry.matmul %x, %w {by_library} : (tensor<32x48xf16>, tensor<48x64xf16>) -> tensor<32x64xf16>
  %1 = gantry.relu %0 : (tensor<32x64xf16>) -> tensor<32x64xf16>
  gantry.yield %1 : tensor<32x64xf16>
}

// -----

gantry.kernel @integers {
^bb0(%x: tensor<32x48xi32>, %w: tensor<48x64xi32>):
  // expected-error@+1 {{internal error: it is for a library, which has no such kernel}}
  %0 = gantry.matmul %x, %w {by_library} : (tensor<32x48xi32>, tensor<48x64xi32>) -> tensor<32x64xi32>
  gantry.yield %0 : tensor<32x64xi32>
}
