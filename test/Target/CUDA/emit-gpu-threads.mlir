// RUN: gantry-opt %s --gantry-emit-gpu-threads --canonicalize --cse -split-input-file | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor.

// Each thread computes one element from what it depends on: a row and a column, the sum in its own loop.
// CHECK-LABEL: func.func private @product(
// CHECK-SAME: %[[X:.*]]: memref<3x5xf32> {llvm.align = 4 : i64, llvm.noalias}, %[[W:.*]]: memref<5x7xf32>{{.*}}, %[[Y:.*]]: memref<3x7xf32>
// CHECK-SAME: gantry.work = #gantry.work<items = 1>, gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 1, 1, 1>
// CHECK: %[[ID:.*]] = arith.addi
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[ID]], %{{.*}}
// CHECK: scf.if %[[IN]] {
// CHECK:   %[[COLUMN:.*]] = arith.remui %[[ID]]
// CHECK:   %[[ROW:.*]] = arith.divui %[[ID]]
// CHECK:   %[[SUM:.*]] = scf.for %[[K:.*]] = {{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (f32) {
// CHECK:     memref.load %[[X]][%[[ROW]], %[[K]]]
// CHECK:     memref.load %[[W]][%[[K]], %[[COLUMN]]]
// CHECK:   memref.store %[[SUM]]
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @product(%x: tensor<3x5xf32>, %w: tensor<5x7xf32>) -> tensor<3x7xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x7xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x7xf32>) -> tensor<3x7xf32>
  %sum = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<3x5xf32>, tensor<5x7xf32>) outs(%start : tensor<3x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x7xf32>
  return %sum : tensor<3x7xf32>
}

// -----

// Many elements: sixteen bytes to a thread, read before they are written, since the result may take the
// argument's place. Then neither is said to be apart from the other.
// CHECK-LABEL: func.func private @negate(
// CHECK-SAME: memref<8192xf32> {llvm.align = 16 : i64}, %[[Y:.*]]: memref<8192xf32> {llvm.align = 16 : i64})
// CHECK-SAME: in_place = [0]
// CHECK-SAME: gpu.known_block_size = array<i32: 256, 1, 1>, gpu.known_grid_size = array<i32: 8, 1, 1>
// CHECK-COUNT-4: memref.load
// CHECK-COUNT-4: memref.store
#id = affine_map<(i) -> (i)>
func.func private @negate(%x: tensor<8192xf32>) -> tensor<8192xf32> attributes {gantry.work = #gantry.work<in_place = [0]>} {
  %empty = tensor.empty() : tensor<8192xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8192xf32>) outs(%empty : tensor<8192xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.negf %a : f32
    linalg.yield %1 : f32
  } -> tensor<8192xf32>
  return %0 : tensor<8192xf32>
}

// -----

// A border is a branch; nothing is padded in memory.
// CHECK-LABEL: func.func private @border(
// CHECK-NOT: memref.alloc
// CHECK: scf.if %{{.*}} -> (f32) {
// CHECK-NEXT: memref.load
// CHECK: } else {
// CHECK-NEXT: scf.yield %{{.*}} : f32
func.func private @border(%x: tensor<5xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<5xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A team of lanes takes a row: each adds up its piece, shuffles join the sums, and the elements are still
// in registers when the row is centred. Nothing is in shared memory.
// CHECK-LABEL: func.func private @center(
// CHECK-SAME: gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 4, 1, 1>
// CHECK-NOT: memref.alloc
// CHECK: %[[LANE:.*]] = arith.remui
// CHECK: %[[ROW:.*]] = arith.divui
// Lanes without a piece read the last one, and do not count.
// CHECK: %[[THERE:.*]] = arith.cmpi ult, %[[LANE]], %{{.*}}
// CHECK: arith.minui %[[LANE]]
// CHECK-COUNT-4: memref.load
// CHECK-NOT: memref.load
// CHECK: arith.select %[[THERE]]
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: scf.if %[[THERE]] {
// CHECK-NOT: memref.load
// CHECK-COUNT-4: arith.subf
// CHECK-COUNT-4: memref.store
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @center(%x: tensor<4x100xf32>) -> tensor<4x100xf32> {
  %zero = arith.constant 0.0 : f32
  %few = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%few : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x100xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.addf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %empty = tensor.empty() : tensor<4x100xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<4x100xf32>, tensor<4xf32>) outs(%empty : tensor<4x100xf32>) {
  ^bb0(%a: f32, %s: f32, %b: f32):
    %0 = arith.subf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<4x100xf32>
  return %y : tensor<4x100xf32>
}

// -----

// Pieces of a joined tensor are written where they belong, each by its own threads.
// CHECK-LABEL: func.func private @join(
// CHECK: memref.store %{{.*}}, %[[Y:.*]][%{{.*}}, %{{.*}}] : memref<2x7xf32>
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %{{c3.*}} overflow<nsw, nuw>
// CHECK: memref.store %{{.*}}, %[[Y]][%{{.*}}, %[[AT]]] : memref<2x7xf32>
func.func private @join(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<2x7xf32> {
  %0 = tensor.concat dim(1) %x, %y : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  return %0 : tensor<2x7xf32>
}

// -----

// A single element is read where it is, though the others are read each by its own thread.
// CHECK-LABEL: func.func private @relative(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<8xf32>
// CHECK: %[[THREE:.*]] = arith.constant 3 : index
// CHECK: memref.load %[[X]][%[[THREE]]]
#one = affine_map<(i) -> (i)>
func.func private @relative(%x: tensor<8xf32>) -> tensor<8xf32> {
  %three = arith.constant 3 : index
  %base = tensor.extract %x[%three] : tensor<8xf32>
  %empty = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.subf %a, %base : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
