// RUN: gantry-opt %s --gantry-emit-gpu-threads --canonicalize --cse -split-input-file | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor.

// A block reads tiles of both sides into shared memory, the next ones while it adds up; then each sum goes through
// what the kernel does with it, in registers.
// CHECK-LABEL: func.func private @product(
// CHECK-SAME: %[[X:.*]]: memref<2048x512xf32> {{{.*}}}, %[[W:.*]]: memref<512x1024xf32> {{{.*}}}, %[[BIAS:.*]]: memref<1024xf32>
// CHECK-DAG: memref.alloc() {{.*}} : memref<{{.*}}xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[XS:.*]] = memref.reinterpret_cast %[[X]]
// CHECK-DAG: %[[WS:.*]] = memref.reinterpret_cast %[[W]]
// CHECK: vector.load %[[XS]]
// CHECK: vector.load %[[WS]]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} iter_args(
// CHECK: %[[NEXT:.*]]:{{.*}} = scf.if
// CHECK: vector.load %[[XS]]
// CHECK: vector.load
// CHECK: vector.to_elements
// CHECK: arith.mulf
// CHECK-NEXT: arith.addf
// CHECK: gpu.barrier
// CHECK: memref.load %[[BIAS]]
// CHECK: arith.maximumf
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#last = affine_map<(m, n) -> (n)>
func.func private @product(%x: tensor<2048x512xf32>, %w: tensor<512x1024xf32>, %bias: tensor<1024xf32>) -> tensor<2048x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x1024xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %sum = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2048x512xf32>, tensor<512x1024xf32>) outs(%start : tensor<2048x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2048x1024xf32>
  %y = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %bias : tensor<2048x1024xf32>, tensor<1024xf32>) outs(%empty : tensor<2048x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<2048x1024xf32>
  return %y : tensor<2048x1024xf32>
}

// -----

// A convolution is one, too: its filters are rows, the positions of the image columns. Behind the last row of
// filters the last one is read, and nothing is written.
// CHECK-LABEL: func.func private @convolution(
// CHECK: arith.minui
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: memref.store
#image = affine_map<(n, o, p, c, t) -> (n, c, p + t)>
#filter = affine_map<(n, o, p, c, t) -> (o, c, t)>
#result = affine_map<(n, o, p, c, t) -> (n, o, p)>
func.func private @convolution(%x: tensor<1x16x66xf32>, %w: tensor<30x16x3xf32>) -> tensor<1x30x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x30x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x30x64xf32>) -> tensor<1x30x64xf32>
  %sum = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x16x66xf32>, tensor<30x16x3xf32>) outs(%start : tensor<1x30x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x30x64xf32>
  return %sum : tensor<1x30x64xf32>
}

// -----

// Few elements of long sums: the terms are dealt out to slices of the block, whose sums meet in shared memory.
// CHECK-LABEL: func.func private @slices(
// CHECK-SAME: gpu.known_block_size = array<i32: 256, 1, 1>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: vector.store
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: memref.load
// CHECK: arith.addf
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @slices(%x: tensor<4x2048xf32>, %w: tensor<2048x64xf32>) -> tensor<4x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64xf32>) -> tensor<4x64xf32>
  %sum = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x2048xf32>, tensor<2048x64xf32>) outs(%start : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %sum : tensor<4x64xf32>
}

// -----

// The channels of a constant filter are innermost, so that it is read four at a time. A round has one place in the
// window: whether that is inside of the image is asked once for all channels that a thread reads, which are so many
// elements apart as an image has.
// CHECK-LABEL: func.func private @borders(
// CHECK-SAME: %[[X:.*]]: memref<1x64x14x14xf32> {{{.*}}}, %[[W:.*]]: memref<32x64x3x3xf32>
// CHECK-DAG: %[[XS:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [12544]
// CHECK-DAG: %[[WS:.*]] = memref.reinterpret_cast %[[W]] to offset: [0], sizes: [18432]
// CHECK: vector.load %[[WS]]
// CHECK: scf.for
// CHECK: vector.load %[[WS]]{{.*}}vector<4xf32>
// CHECK: arith.remui %[[ROUND:.*]], %c3
// CHECK: arith.divui %[[ROUND]], %c3
// CHECK: scf.if
// CHECK: memref.load %[[XS]]
// CHECK: arith.addi %{{.*}}, %c196
// CHECK-NEXT: memref.load %[[XS]]
// CHECK-NEXT: arith.addi %{{.*}}, %c392
// CHECK-NEXT: memref.load %[[XS]]
// CHECK: vector.from_elements
// CHECK-NEXT: scf.yield {{.*}} : vector<4xf32>
// CHECK-NEXT: } else {
#image = affine_map<(n, o, y, x, i, j, c) -> (n, c, y + i, x + j)>
#filter = affine_map<(n, o, y, x, i, j, c) -> (o, c, i, j)>
#result = affine_map<(n, o, y, x, i, j, c) -> (n, o, y, x)>
func.func private @borders(%x: tensor<1x64x14x14xf32>, %w: tensor<32x64x3x3xf32>) -> tensor<1x32x14x14xf32>
    attributes {gantry.layouts = [unit, {matrices = array<i64>, rows = array<i64: 32, 576, 3, 3, 3, 1, 64, 9>, columns = array<i64>, width = 1 : i64}]} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%n: index, %c: index, %i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x64x14x14xf32> to tensor<1x64x16x16xf32>
  %empty = tensor.empty() : tensor<1x32x14x14xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32x14x14xf32>) -> tensor<1x32x14x14xf32>
  %sum = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : tensor<1x64x16x16xf32>, tensor<32x64x3x3xf32>) outs(%start : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x32x14x14xf32>
  return %sum : tensor<1x32x14x14xf32>
}
