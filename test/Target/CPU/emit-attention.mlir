// Kernels that are attention become loops around tiles.

// RUN: gantry-opt %s --gantry-emit-attention --canonicalize --cse | FileCheck %s

#q = affine_map<(b, m, n, k) -> (b, m, k)>
#k = affine_map<(b, m, n, k) -> (b, n, k)>
#v = affine_map<(b, m, n, k) -> (b, k, n)>
#s = affine_map<(b, m, n, k) -> (b, m, n)>
#id = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>
#heads = affine_map<(b, m, n) -> (m, b, n)>

// Three heads of 20 queries, whose elements lie side by side, and 40 keys. Keys go to a panel of 48, values to one of 16;
// four tiles have five queries. The softmax is done on rows of a tile, the exponentials in the place of scores.
// CHECK-LABEL: func.func private @softmax(
// CHECK-SAME: %[[Q:[a-z0-9]*]]: memref<20x3x16xf32> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: %[[K:[a-z0-9]*]]: memref<3x40x16xf32>
// CHECK-SAME: %[[V:[a-z0-9]*]]: memref<3x40x16xf32>
// CHECK-SAME: %[[R:[a-z0-9]*]]: memref<3x20x16xf32>
// CHECK: memref.extract_aligned_pointer_as_index %[[Q]]
// CHECK: scf.forall (%[[B:[a-z0-9]+]]) in (3)
// CHECK: %[[PANELS:.*]] = memref.alloc() : memref<1x1408xf32>
// CHECK: memref.load %[[K]][%[[B]],
// CHECK: memref.store %{{.*}}, %[[PANELS]]
// CHECK: memref.load %[[V]][%[[B]],
// CHECK: %[[SCORES:.*]] = memref.alloc() : memref<7x40xf32>
// CHECK: call @gantry_tile_f32_7x48_0(
// CHECK: memref.store %{{.*}}, %[[SCORES]]
// CHECK: linalg.generic {{.*}} ins(%[[SCORES]] : memref<7x40xf32>) outs(%[[TOP:.*]] : memref<7xf32>)
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}} ins(%[[SCORES]], %[[TOP]] : memref<7x40xf32>, memref<7xf32>) outs(%[[OUT:.*]] : memref<7x40xf32>)
// CHECK: math.exp
// CHECK: call @gantry_tile_f32_7x16_0(
// CHECK: memref.store %{{.*}}, %[[R]][%[[B]],
func.func private @softmax(%qs: tensor<20x3x16xf32>, %ks: tensor<3x40x16xf32>, %vs: tensor<3x40x16xf32>) -> tensor<3x20x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<3x20x16xf32>
  %e1 = tensor.empty() : tensor<3x20x40xf32>
  %e2 = tensor.empty() : tensor<3x20xf32>
  %q = linalg.generic {indexing_maps = [#heads, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%qs : tensor<20x3x16xf32>) outs(%e0 : tensor<3x20x16xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  } -> tensor<3x20x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
  %scores = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %ks : tensor<3x20x16xf32>, tensor<3x40x16xf32>) outs(%z1 : tensor<3x20x40xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x20x40xf32>
  %z2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<3x20xf32>) -> tensor<3x20xf32>
  %top = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%scores : tensor<3x20x40xf32>) outs(%z2 : tensor<3x20xf32>) {
  ^bb0(%x: f32, %best: f32):
    %1 = arith.maximumf %best, %x : f32
    linalg.yield %1 : f32
  } -> tensor<3x20xf32>
  %weights = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scores, %top : tensor<3x20x40xf32>, tensor<3x20xf32>) outs(%e1 : tensor<3x20x40xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %1 = arith.subf %x, %y : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x20x40xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x20x16xf32>) -> tensor<3x20x16xf32>
  %result = linalg.generic {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%weights, %vs : tensor<3x20x40xf32>, tensor<3x40x16xf32>) outs(%z3 : tensor<3x20x16xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x20x16xf32>
  return %result : tensor<3x20x16xf32>
}

// One query shares its keys with no other: that stays as it is.
// CHECK-LABEL: func.func private @step(
// CHECK: linalg.generic
// CHECK: return %{{.*}} : tensor<1x1x16xf32>
func.func private @step(%q: tensor<1x1x16xf32>, %ks: tensor<1x40x16xf32>, %vs: tensor<1x40x16xf32>) -> tensor<1x1x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<1x1x16xf32>
  %e1 = tensor.empty() : tensor<1x1x40xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x1x40xf32>) -> tensor<1x1x40xf32>
  %scores = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %ks : tensor<1x1x16xf32>, tensor<1x40x16xf32>) outs(%z1 : tensor<1x1x40xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<1x1x40xf32>
  %weights = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scores : tensor<1x1x40xf32>) outs(%e1 : tensor<1x1x40xf32>) {
  ^bb0(%x: f32, %out: f32):
    %1 = math.exp %x : f32
    linalg.yield %1 : f32
  } -> tensor<1x1x40xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x1x16xf32>) -> tensor<1x1x16xf32>
  %result = linalg.generic {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%weights, %vs : tensor<1x1x40xf32>, tensor<1x40x16xf32>) outs(%z3 : tensor<1x1x16xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<1x1x16xf32>
  return %result : tensor<1x1x16xf32>
}

// Whole panels of keys that lie in an argument key by key are turned in registers by another pass;
// the last 36 keys go one by one.
// CHECK-LABEL: func.func private @long(
// CHECK: memref.reinterpret_cast {{.*}} sizes: [64, 16], strides: [16, 1]
// CHECK: memref.reinterpret_cast {{.*}} sizes: [16, 64], strides: [64, 1]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : memref<64x16xf32, {{.*}}outs(%{{.*}} : memref<16x64xf32,
func.func private @long(%qs: tensor<20x3x16xf32>, %ks: tensor<3x100x16xf32>, %vs: tensor<3x100x16xf32>) -> tensor<3x20x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<3x20x16xf32>
  %e1 = tensor.empty() : tensor<3x20x100xf32>
  %e2 = tensor.empty() : tensor<3x20xf32>
  %q = linalg.generic {indexing_maps = [#heads, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%qs : tensor<20x3x16xf32>) outs(%e0 : tensor<3x20x16xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  } -> tensor<3x20x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x20x100xf32>) -> tensor<3x20x100xf32>
  %scores = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %ks : tensor<3x20x16xf32>, tensor<3x100x16xf32>) outs(%z1 : tensor<3x20x100xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x20x100xf32>
  %z2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<3x20xf32>) -> tensor<3x20xf32>
  %top = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%scores : tensor<3x20x100xf32>) outs(%z2 : tensor<3x20xf32>) {
  ^bb0(%x: f32, %best: f32):
    %1 = arith.maximumf %best, %x : f32
    linalg.yield %1 : f32
  } -> tensor<3x20xf32>
  %weights = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scores, %top : tensor<3x20x100xf32>, tensor<3x20xf32>) outs(%e1 : tensor<3x20x100xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %1 = arith.subf %x, %y : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x20x100xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x20x16xf32>) -> tensor<3x20x16xf32>
  %result = linalg.generic {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%weights, %vs : tensor<3x20x100xf32>, tensor<3x100x16xf32>) outs(%z3 : tensor<3x20x16xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x20x16xf32>
  return %result : tensor<3x20x16xf32>
}
