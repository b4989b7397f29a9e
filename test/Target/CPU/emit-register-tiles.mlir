// The order in which an element's terms are added depends on shapes alone; a body of arithmetic is
// cloned on vectors. Registers of 32 bytes, 8 floats, keep this test small.

// RUN: gantry-opt %s --gantry-emit-register-tiles="vector-bytes=32" --canonicalize --cse | FileCheck %s

#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>
#rhsT = affine_map<(i, j, k) -> (j, k)>

// Columns: vectors along the last dimension of the result. An element of the left operand is
// broadcast, a vector of the right one serves several rows, sums stay in registers.
// CHECK-LABEL: @columns(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<8x16xf32>, %[[B:[a-z0-9]*]]: memref<16x32xf32>, %[[C:[a-z0-9]*]]: memref<8x32xf32>)
// CHECK-NOT: linalg.generic
// CHECK: vector.load %[[C]]
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load %[[B]][{{.*}} vector<8xf32>
// CHECK: memref.load %[[A]]
// CHECK: vector.broadcast
// CHECK: arith.mulf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: scf.yield
// CHECK: vector.store %{{.*}}, %[[C]]
func.func private @columns(%a: memref<8x16xf32>, %b: memref<16x32xf32>, %c: memref<8x32xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<8x16xf32>, memref<16x32xf32>) outs(%c : memref<8x32xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Dots: where the reduced dimension is the contiguous one, vectors run along it and are added up at
// the end.
// CHECK-LABEL: @dots(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<4x64xf32>, %[[B:[a-z0-9]*]]: memref<8x64xf32>, %[[C:[a-z0-9]*]]: memref<4x8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: scf.for {{.*}} iter_args
// CHECK-DAG: vector.load %[[A]][{{.*}} vector<8xf32>
// CHECK-DAG: vector.load %[[B]][{{.*}} vector<8xf32>
// CHECK: scf.yield
// CHECK: vector.reduction <add>
// CHECK: memref.store %{{.*}}, %[[C]]
func.func private @dots(%a: memref<4x64xf32>, %b: memref<8x64xf32>, %c: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhsT, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<4x64xf32>, memref<8x64xf32>) outs(%c : memref<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Rows of a maximum are dots, too: another combining op at the end.
// CHECK-LABEL: @row_maximum(
// CHECK-NOT: linalg.generic
// CHECK: arith.maximumf {{.*}} : vector<8xf32>
// CHECK: vector.reduction <maximumf>
#row_in = affine_map<(i, j) -> (i, j)>
#row_out = affine_map<(i, j) -> (i)>
func.func private @row_maximum(%a: memref<4x64xf32>, %c: memref<4xf32>) {
  linalg.generic {indexing_maps = [#row_in, #row_out], iterator_types = ["parallel", "reduction"]} ins(%a : memref<4x64xf32>) outs(%c : memref<4xf32>) {
  ^bb0(%x: f32, %z: f32):
    %0 = arith.maximumf %z, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// A sum over rows is columns: no element is loaded twice, nothing is added up at the end.
// CHECK-LABEL: @column_sum(
// CHECK-NOT: linalg.generic
// CHECK-NOT: vector.reduction
// CHECK: arith.addf {{.*}} : vector<{{[0-9]+}}xf32>
// CHECK: return
#column_out = affine_map<(i, j) -> (j)>
func.func private @column_sum(%a: memref<64x32xf32>, %c: memref<32xf32>) {
  linalg.generic {indexing_maps = [#row_in, #column_out], iterator_types = ["reduction", "parallel"]} ins(%a : memref<64x32xf32>) outs(%c : memref<32xf32>) {
  ^bb0(%x: f32, %z: f32):
    %0 = arith.addf %z, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// A conversion in the body widens with it: i8 products in i32.
// CHECK-LABEL: @integers(
// CHECK-NOT: linalg.generic
// CHECK: arith.extsi {{.*}} to vector<8xi32>
// CHECK: arith.muli {{.*}} : vector<8xi32>
func.func private @integers(%a: memref<8x16xi8>, %b: memref<16x32xi8>, %c: memref<8x32xi32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<8x16xi8>, memref<16x32xi8>) outs(%c : memref<8x32xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %z, %2 : i32
    linalg.yield %3 : i32
  }
  return
}

// Sizes that no register divides: nothing outside the buffers is read or written.
// CHECK-LABEL: @remainders(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<5x3xf32>, %[[B:[a-z0-9]*]]: memref<3x13xf32>, %[[C:[a-z0-9]*]]: memref<5x13xf32>)
// CHECK-NOT: linalg.generic
// CHECK: vector.store %{{.*}}, %[[C]][%{{.*}}, %c0{{.*}} vector<8xf32>
// CHECK: vector.{{(masked)?}}store {{.*}}%[[C]][%{{.*}}, %c8{{.*}} vector<{{[48]}}xf32>
func.func private @remainders(%a: memref<5x3xf32>, %b: memref<3x13xf32>, %c: memref<5x13xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<5x3xf32>, memref<3x13xf32>) outs(%c : memref<5x13xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Left for plain loops: elementwise ops, which LLVM's vectoriser does well.
// CHECK-LABEL: @elementwise_is_left(
// CHECK: linalg.generic
func.func private @elementwise_is_left(%a: memref<4x64xf32>, %c: memref<4x64xf32>) {
  linalg.generic {indexing_maps = [#row_in, #row_in], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x64xf32>) outs(%c : memref<4x64xf32>) {
  ^bb0(%x: f32, %z: f32):
    %0 = arith.negf %x : f32
    linalg.yield %0 : f32
  }
  return
}

// So are bodies that load by computed indices, which cannot be cloned on vectors.
// CHECK-LABEL: @indexed_is_left(
// CHECK: linalg.generic
func.func private @indexed_is_left(%a: memref<4x64xi64>, %t: memref<9xf32>, %c: memref<4xf32>) {
  linalg.generic {indexing_maps = [#row_in, #row_out], iterator_types = ["parallel", "reduction"]} ins(%a : memref<4x64xi64>) outs(%c : memref<4xf32>) {
  ^bb0(%x: i64, %z: f32):
    %i = arith.index_cast %x : i64 to index
    %v = memref.load %t[%i] : memref<9xf32>
    %0 = arith.addf %z, %v : f32
    linalg.yield %0 : f32
  }
  return
}

// Reductions of nothing need no registers.
// CHECK-LABEL: @empty_is_left(
// CHECK-NOT: vector
// CHECK: return
func.func private @empty_is_left(%a: memref<4x0xf32>, %c: memref<4xf32>) {
  linalg.generic {indexing_maps = [#row_in, #row_out], iterator_types = ["parallel", "reduction"]} ins(%a : memref<4x0xf32>) outs(%c : memref<4xf32>) {
  ^bb0(%x: f32, %z: f32):
    %0 = arith.addf %z, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// A scalar from outside the body is the same for all lanes, wherever the body uses it.
// CHECK-LABEL: @captured(
// CHECK-SAME: %[[P:[a-z0-9]*]]: f32)
// CHECK: %[[V:.*]] = vector.broadcast %[[P]] : f32 to vector<8xf32>
// CHECK: math.powf %{{.*}}, %[[V]] : vector<8xf32>
func.func private @captured(%a: memref<16x32xf32>, %c: memref<32xf32>, %p: f32) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<16x32xf32>) outs(%c : memref<32xf32>) {
  ^bb0(%x: f32, %z: f32):
    %0 = math.powf %x, %p : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// A long sum whose order is ours is a sum of sums of 256 terms and a last one of 44, each from zero.
// CHECK-LABEL: @long_column_sum(
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK-DAG: %[[SOME:.*]] = arith.constant 256 : index
// CHECK-DAG: %[[FULL:.*]] = arith.constant 512 : index
// CHECK: %[[SUMS:.*]] = scf.for %{{.*}} to %[[FULL]] step %[[SOME]] iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK: %[[PART:.*]] = scf.for %{{.*}} to %[[SOME]] {{.*}} iter_args(%{{.*}} = %[[ZERO]])
// CHECK: %[[MORE:.*]] = arith.addf %[[SUM]], %[[PART]] : vector<8xf32>
// CHECK: scf.yield %[[MORE]]
// CHECK: %[[REST:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]])
// CHECK: arith.addf %[[SUMS]], %[[REST]] : vector<8xf32>
func.func private @long_column_sum(%x: memref<556x8xf32>, %r: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<556x8xf32>) outs(%r : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b fastmath<reassoc,nsz,contract> : f32
    linalg.yield %1 : f32
  }
  return
}

// Three columns are a vector with a mask: loops would add up 500 rows in one chain.
// CHECK-LABEL: @long_sum_of_few_columns(
// CHECK-NOT: linalg.generic
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.maskedload {{.*}} vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: vector.maskedstore
func.func private @long_sum_of_few_columns(%x: memref<500x3xf32>, %out: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<500x3xf32>) outs(%out : memref<3xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %0 = arith.addf %sum, %a fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// The same along a row, where a term is four vectors: 256 of 32 elements, again, and what is left of
// them; then 3 elements.
// CHECK-LABEL: @long_row_sum(
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK-DAG: %[[ALL:.*]] = arith.constant 8192 : index
// CHECK-DAG: %[[FULL:.*]] = arith.constant 16384 : index
// CHECK: %[[SUMS:.*]]:4 = scf.for %{{.*}} to %[[FULL]] step %[[ALL]] iter_args(%[[SUM:[^ ]*]] =
// CHECK: %[[PART:.*]]:4 = scf.for %{{.*}} to %[[ALL]] {{.*}} iter_args(%{{.*}} = %[[ZERO]]
// CHECK: arith.addf %[[SUM]], %[[PART]]#0 : vector<8xf32>
// CHECK: %[[LAST:.*]]:4 = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]]
// CHECK: arith.addf %[[SUMS]]#0, %[[LAST]]#0 : vector<8xf32>
// CHECK-COUNT-4: vector.reduction <add>
// CHECK: scf.for
func.func private @long_row_sum(%x: memref<16451xf32>, %r: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<16451xf32>) outs(%r : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b fastmath<reassoc,nsz,contract> : f32
    linalg.yield %1 : f32
  }
  return
}

// Of several dimensions those inside that have 64 terms together make a sum each.
// CHECK-LABEL: @long_sum_of_images(
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:[^ ]*]] =
// CHECK: %[[PART:.*]] = scf.for
// CHECK: scf.for
// CHECK: arith.addf %[[SUM]], %[[PART]] : vector<8xf32>
// CHECK-NOT: scf.for
func.func private @long_sum_of_images(%x: memref<8x12x12x8xf32>, %r: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(n, y, x, j) -> (n, y, x, j)>, affine_map<(n, y, x, j) -> (j)>], iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%x : memref<8x12x12x8xf32>) outs(%r : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b fastmath<reassoc,nsz,contract> : f32
    linalg.yield %1 : f32
  }
  return
}

// Two sums over rows of the same elements: accumulators for each, an element is loaded once. A square in front of a sum
// is rounded by itself, and what columns share is no reason for blocks: the order is that of the sum alone.
// CHECK-LABEL: @two_sums(
// CHECK-NOT: linalg.generic
// CHECK: %[[PARTS:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: %[[X:.*]] = vector.load %{{.*}} : memref<64x8xf32>, vector<8xf32>
// CHECK: %[[Q:.*]] = arith.mulf %[[X]], %[[X]] : vector<8xf32>
// CHECK: arith.addf %{{.*}}, %[[Q]] : vector<8xf32>
// CHECK: arith.addf %{{.*}}, %[[X]] : vector<8xf32>
// CHECK: vector.store %[[PARTS]]#0
// CHECK: vector.store %[[PARTS]]#1
func.func private @two_sums(%x: memref<64x8xf32>, %s: memref<8xf32>, %t: memref<8xf32>) {
  linalg.generic {indexing_maps = [#row_in, #column_out, #column_out], iterator_types = ["reduction", "parallel"]} ins(%x : memref<64x8xf32>) outs(%s, %t : memref<8xf32>, memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %b, %0 fastmath<reassoc,nsz,contract> : f32
    %2 = arith.addf %c, %a fastmath<reassoc,nsz,contract> : f32
    linalg.yield %1, %2 : f32, f32
  }
  return
}

// CHECK-LABEL: @no_blocks(
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%{{[^,]*}} = %{{[^,]*}}) -> (vector<8xf32>)
func.func private @no_blocks(%x: memref<300x4x8xf32>, %w: memref<300x8xf32>, %s: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(k, i, j) -> (k, i, j)>, affine_map<(k, i, j) -> (k, j)>, affine_map<(k, i, j) -> (i, j)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%x, %w : memref<300x4x8xf32>, memref<300x8xf32>) outs(%s : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 fastmath<reassoc,nsz,contract> : f32
    linalg.yield %1 : f32
  }
  return
}
