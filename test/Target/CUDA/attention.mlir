// Attention that is written as ops is one kernel: a block has some queries, their scores are in shared memory, and
// nothing but queries, keys and values is read.
// RUN: gantry-opt %s --gantry-cuda-kernel-pipeline | FileCheck %s --implicit-check-not=tensor. --implicit-check-not=linalg.
// RUN: gantry-opt %s --gantry-cuda-kernel-pipeline | FileCheck %s --check-prefix=MEMORY

// Eight queries of 12 heads are 192 blocks. All scores of a block are one tile; lines of 128 are 136 apart. A row is a
// warp's: two warps take eight rows in turns, in place. Keys and values are read where they lie, the result is written
// where its head is.
// CHECK-LABEL: func.func private @heads(
// CHECK-SAME: %[[Q:[^ ]*]]: memref<1x128x12x64xf32> {{{[^}]*}}}, %[[K:[^ ]*]]: memref<1x128x12x64xf32> {{{[^}]*}}}, %[[V:[^ ]*]]: memref<1x128x12x64xf32> {{{[^}]*}}}, %[[R:[^ ]*]]: memref<1x128x12x64xf32>
// CHECK-SAME: gpu.known_block_size = array<i32: 64, 1, 1>, gpu.known_grid_size = array<i32: 192, 1, 1>
// CHECK: %[[SCORES:[^ ]*]] = memref.alloc() {{.*}} memref<1088xf32, #gpu.address_space<workgroup>>
// CHECK: %[[QS:[^ ]*]] = memref.reinterpret_cast %[[Q]]
// CHECK: %[[KS:[^ ]*]] = memref.reinterpret_cast %[[K]]
// CHECK: vector.load %[[QS]][{{.*}} vector<4xf32>
// CHECK: vector.load %[[KS]][{{.*}} vector<4xf32>
// CHECK: gpu.barrier
// CHECK: arith.mulf
// CHECK: arith.divf %{{.*}}, %cst{{.*}} : f32
// CHECK: memref.store %{{.*}}, %[[SCORES]]
// CHECK: gpu.barrier
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c8 step %c2 {
// CHECK: memref.load %[[SCORES]]
// CHECK: arith.maximumf
// CHECK: gpu.shuffle xor
// CHECK: math.exp
// CHECK: gpu.shuffle xor
// CHECK: memref.store %{{.*}}, %[[SCORES]]
// CHECK: gpu.barrier
// CHECK: %[[VS:[^ ]*]] = memref.reinterpret_cast %[[V]]
// CHECK: memref.load %[[SCORES]]
// CHECK: vector.load %[[VS]][{{.*}} vector<4xf32>
// CHECK: scf.for
// CHECK: %[[RS:[^ ]*]] = memref.reinterpret_cast %[[R]]
// CHECK: memref.store %{{.*}}, %[[RS]]
// CHECK: return

// The values' tiles take the places of the queries' and keys'.
// MEMORY-LABEL: func.func private @heads(
// MEMORY-COUNT-3: memref.alloc()
// MEMORY-NOT: memref.alloc()
// MEMORY-LABEL: func.func private @partial(
gantry.kernel @heads {
^bb0(%q: tensor<1x128x12x64xf32>, %k: tensor<1x128x12x64xf32>, %v: tensor<1x128x12x64xf32>):
  %0 = gantry.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x128x12x64xf32>) -> tensor<1x12x128x64xf32>
  %1 = gantry.transpose %k {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x128x12x64xf32>) -> tensor<1x12x64x128xf32>
  %2 = gantry.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x128x12x64xf32>) -> tensor<1x12x128x64xf32>
  %3 = gantry.matmul %0, %1 : (tensor<1x12x128x64xf32>, tensor<1x12x64x128xf32>) -> tensor<1x12x128x128xf32>
  %4 = gantry.constant dense<7.0> : tensor<f32>
  %5 = gantry.div %3, %4 : (tensor<1x12x128x128xf32>, tensor<f32>) -> tensor<1x12x128x128xf32>
  %6 = gantry.softmax %5 {axis = 3 : i64} : (tensor<1x12x128x128xf32>) -> tensor<1x12x128x128xf32>
  %7 = gantry.matmul %6, %2 : (tensor<1x12x128x128xf32>, tensor<1x12x128x64xf32>) -> tensor<1x12x128x64xf32>
  %8 = gantry.transpose %7 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x12x128x64xf32>) -> tensor<1x128x12x64xf32>
  gantry.yield %8 : tensor<1x128x12x64xf32>
}

// Queries that are scaled first are still read four at a time. Behind the last query of a block its scores are kept
// again, where the mask of the last one is read; lanes behind the end of a row read that of another one, so all wait
// before they write.
// CHECK-LABEL: func.func private @partial(
// CHECK-SAME: %[[Q:[^ ]*]]: memref<2x30x64xf32> {{{[^}]*}}}, %[[K:[^ ]*]]: memref<2x50x64xf32> {{{[^}]*}}}, %[[M:[^ ]*]]: memref<30x50xf32>
// CHECK: %[[SCORES:[^ ]*]] = memref.alloc() {{.*}} memref<576xf32, #gpu.address_space<workgroup>>
// CHECK: %[[QS:[^ ]*]] = memref.reinterpret_cast %[[Q]]
// CHECK: %[[READ:.*]] = vector.load %[[QS]][{{.*}} vector<4xf32>
// CHECK-NEXT: %[[FOUR:.*]]:4 = vector.to_elements %[[READ]]
// CHECK-NEXT: arith.mulf %[[FOUR]]#0
// CHECK: gpu.barrier
// CHECK: arith.minui %{{.*}}, %c29
// CHECK: memref.load %[[M]]
// CHECK: memref.store %{{.*}}, %[[SCORES]]
// CHECK: gpu.shuffle xor
// CHECK: math.exp
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %[[SCORES]]
// CHECK: gpu.barrier
gantry.kernel @partial {
^bb0(%q: tensor<2x30x64xf32>, %k: tensor<2x50x64xf32>, %m: tensor<30x50xf32>, %v: tensor<2x50x32xf32>):
  %0 = gantry.constant dense<0.125> : tensor<f32>
  %1 = gantry.mul %q, %0 : (tensor<2x30x64xf32>, tensor<f32>) -> tensor<2x30x64xf32>
  %2 = gantry.matmul %1, %k {transpose_b} : (tensor<2x30x64xf32>, tensor<2x50x64xf32>) -> tensor<2x30x50xf32>
  %3 = gantry.add %2, %m : (tensor<2x30x50xf32>, tensor<30x50xf32>) -> tensor<2x30x50xf32>
  %4 = gantry.softmax %3 {axis = 2 : i64} : (tensor<2x30x50xf32>) -> tensor<2x30x50xf32>
  %5 = gantry.matmul %4, %v : (tensor<2x30x50xf32>, tensor<2x50x32xf32>) -> tensor<2x30x32xf32>
  gantry.yield %5 : tensor<2x30x32xf32>
}

// Rows of 600 scores are of several warps, which meet in shared memory: a block has threads for a row at least.
// CHECK-LABEL: func.func private @long_rows(
// CHECK-SAME: gpu.known_block_size = array<i32: 256, 1, 1>, gpu.known_grid_size = array<i32: 128, 1, 1>
// CHECK: memref.alloc() {{.*}} memref<8xf32, #gpu.address_space<workgroup>>
// CHECK: scf.for %{{.*}} = %c0 to %c8 step
// CHECK: arith.maximumf
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: arith.divf
// CHECK: gpu.barrier
gantry.kernel @long_rows {
^bb0(%q: tensor<64x16x16xf32>, %k: tensor<64x16x600xf32>, %v: tensor<64x600x16xf32>):
  %0 = gantry.matmul %q, %k : (tensor<64x16x16xf32>, tensor<64x16x600xf32>) -> tensor<64x16x600xf32>
  %1 = gantry.softmax %0 {axis = 2 : i64} : (tensor<64x16x600xf32>) -> tensor<64x16x600xf32>
  %2 = gantry.matmul %1, %v : (tensor<64x16x600xf32>, tensor<64x600x16xf32>) -> tensor<64x16x16xf32>
  gantry.yield %2 : tensor<64x16x16xf32>
}
