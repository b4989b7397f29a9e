// RUN: gantry-opt %s --gantry-emit-gpu-lines | FileCheck %s

// Many or short lines: a thread takes a line and goes along it in order; what is summed is f32, what is
// stored the type of the op.
// CHECK-LABEL: func.func private @running(
// CHECK-SAME: %[[X:.*]]: memref<4x9xf16>{{.*}}, %[[Y:.*]]: memref<4x9xf16>
// CHECK-SAME: gpu.known_grid_size = array<i32: 1, 1, 1>
// CHECK: scf.if
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c9{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32) {
// CHECK: %[[AT:.*]] = memref.load %[[X]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[AT]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[WIDE]]
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: scf.yield %[[NEXT]]
gantry.kernel @running {
^bb0(%x: tensor<4x9xf16>):
  %0 = gantry.cumsum %x {axis = 1 : i64} : (tensor<4x9xf16>) -> tensor<4x9xf16>
  gantry.yield %0 : tensor<4x9xf16>
}

// Few long lines: a block takes a line, tile by tile. Each thread adds up its neighbours, the sums of
// threads are summed up by steps of 1, 2, 4, ..., and what lies before them goes in front of a thread's own.
// CHECK-LABEL: func.func private @long(
// CHECK-SAME: gpu.known_block_size = array<i32: 256, 1, 1>, gpu.known_grid_size = array<i32: 3, 1, 1>
// CHECK: %[[SUMS:.*]] = memref.alloc() {{.*}} : memref<256xf32, #gpu.address_space<workgroup>>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c5000{{.*}} step %c2048{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (f32) {
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[SUMS]]
// CHECK: gpu.barrier
// CHECK: arith.cmpi uge, %{{.*}}, %c1
// CHECK: arith.cmpi uge, %{{.*}}, %c128
// CHECK: gpu.barrier
// CHECK: arith.addf %[[SO_FAR]], %{{.*}}
// CHECK: scf.for
// CHECK: %[[ALL:.*]] = memref.load %[[SUMS]][%c255
// CHECK: gpu.barrier
// CHECK: %[[NEXT:.*]] = arith.addf %[[SO_FAR]], %[[ALL]]
// CHECK: scf.yield %[[NEXT]]
gantry.kernel @long {
^bb0(%x: tensor<3x5000xf32>):
  %0 = gantry.cumsum %x {axis = 1 : i64} : (tensor<3x5000xf32>) -> tensor<3x5000xf32>
  gantry.yield %0 : tensor<3x5000xf32>
}

// A block sorts a row; entries are filled up to a power of two, with what no element is behind.
// CHECK-LABEL: func.func private @best(
// CHECK-SAME: %{{.*}}: memref<2x5xf32>{{.*}}, %[[V:.*]]: memref<2x3xf32>{{.*}}, %[[I:.*]]: memref<2x3xi64>
// CHECK-SAME: gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>
// CHECK-DAG: memref.alloc() {{.*}} : memref<8xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.alloc() {{.*}} : memref<8xi32, #gpu.address_space<workgroup>>
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.cmpf ogt
// CHECK: arith.xori
// CHECK: scf.if
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %[[V]]
// CHECK: memref.store %{{.*}}, %[[I]]
gantry.kernel @best {
^bb0(%x: tensor<2x5xf32>):
  %0:2 = gantry.top_k %x {axis = 1 : i64, k = 3 : i64} : (tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  gantry.yield %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi64>
}

// Of a long row the best are kept while tiles of it are sorted and merged with them.
// CHECK-LABEL: func.func private @best_of_many(
// CHECK-SAME: gpu.known_block_size = array<i32: 256, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>
// CHECK-DAG: memref.alloc() {{.*}} : memref<2048xi8, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.alloc() {{.*}} : memref<2048xi32, #gpu.address_space<workgroup>>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c50000{{.*}} step %c1024
gantry.kernel @best_of_many {
^bb0(%x: tensor<2x50000xui8>):
  %0:2 = gantry.top_k %x {axis = 1 : i64, k = 3 : i64} : (tensor<2x50000xui8>) -> (tensor<2x3xui8>, tensor<2x3xi64>)
  gantry.yield %0#0, %0#1 : tensor<2x3xui8>, tensor<2x3xi64>
}

// More than shared memory keeps: the row is sorted in scratch memory, by as many blocks as have some.
// CHECK-LABEL: func.func private @many_of_many(
// CHECK-SAME: memref<33554432xi8>
// CHECK-SAME: gantry.work = #gantry.work<items = 1, scratch = 33554432>
// CHECK-SAME: gpu.known_grid_size = array<i32: 256, 1, 1>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c300{{.*}} step %c256
gantry.kernel @many_of_many {
^bb0(%x: tensor<300x10000xf32>):
  %0:2 = gantry.top_k %x {axis = 1 : i64, k = 5000 : i64} : (tensor<300x10000xf32>) -> (tensor<300x5000xf32>, tensor<300x5000xi64>)
  gantry.yield %0#0, %0#1 : tensor<300x5000xf32>, tensor<300x5000xi64>
}

// A thread copies the elements that it owns and applies the updates that are for one of them, in order.
// The index is read as an i64 and becomes one of the kernel's when it is inside.
// CHECK-LABEL: func.func private @scattered(
// CHECK-SAME: %[[X:.*]]: memref<6x5xf32> {llvm.align = 4 : i64}, %[[AT:.*]]: memref<4x5xi64> {{.*}}, %[[U:.*]]: memref<4x5xf32> {{{.*}}llvm.noalias{{.*}}}, %[[Y:.*]]: memref<6x5xf32>
// CHECK-SAME: gantry.work = #gantry.work<items = 1, in_place = [0]>
// CHECK: scf.for
// CHECK: %[[OLD:.*]] = memref.load %[[X]]
// CHECK: memref.store %[[OLD]], %[[Y]]
// CHECK: scf.for
// CHECK: %[[INDEX:.*]] = memref.load %[[AT]]
// CHECK: arith.minsi %{{.*}} : i64
// CHECK: %[[I:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[OWNER:.*]] = arith.andi %[[I]], %c7
// CHECK: %[[MINE:.*]] = arith.cmpi eq, %[[OWNER]]
// CHECK: scf.if %[[MINE]]
// CHECK: %[[BEFORE:.*]] = memref.load %[[Y]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[BEFORE]]
// CHECK: memref.store %[[NEXT]], %[[Y]]
gantry.kernel @scattered attributes {gantry.work = #gantry.work<items = 1, in_place = [0]>} {
^bb0(%x: tensor<6x5xf32>, %i: tensor<4x5xi64>, %u: tensor<4x5xf32>):
  %0 = gantry.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = #gantry<reduction add>} : (tensor<6x5xf32>, tensor<4x5xi64>, tensor<4x5xf32>) -> tensor<6x5xf32>
  gantry.yield %0 : tensor<6x5xf32>
}

// A constant that belongs to the kernel becomes one of the module.
// CHECK-LABEL: func.func private @slice(
// CHECK: memref.get_global @slice_constant0 : memref<1x1xi64>
// CHECK-NOT: gantry.kernel
gantry.kernel @slice {
^bb0(%x: tensor<6x5xf32>, %u: tensor<1x5xf32>):
  %i = gantry.constant dense<3> : tensor<1x1xi64>
  %0 = gantry.scatter_nd %x, %i, %u {reduction = #gantry<reduction none>} : (tensor<6x5xf32>, tensor<1x1xi64>, tensor<1x5xf32>) -> tensor<6x5xf32>
  gantry.yield %0 : tensor<6x5xf32>
}

// Others stay kernels.
// CHECK: gantry.kernel @other
gantry.kernel @other {
^bb0(%x: tensor<4xf32>):
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  gantry.yield %0 : tensor<4xf32>
}

// -----

// Attention goes along the keys, tile by tile; lanes join their scores by shuffles. What is hidden from all queries
// of a block is not read.
// CHECK-LABEL: func.func private @attention(
// CHECK-SAME: gpu.known_block_size = array<i32: 128, 1, 1>, gpu.known_grid_size = array<i32: 8, 1, 1>
// CHECK: arith.minui %{{.*}}, %{{.*}} : index
// CHECK: arith.minui %c200
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: gpu.shuffle{{ +}}xor
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK: arith.divf
gantry.kernel @attention {
^bb0(%q: tensor<2x128x64xf32>, %k: tensor<2x200x64xf32>, %v: tensor<2x200x48xf32>):
  %y = gantry.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<2x128x64xf32>, tensor<2x200x64xf32>, tensor<2x200x48xf32>) -> tensor<2x128x48xf32>
  gantry.yield %y : tensor<2x128x48xf32>
}
