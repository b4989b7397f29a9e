// RUN: gantry-opt %s --split-input-file --gantry-outline-gpu-kernels | FileCheck %s

// Functions of threads become kernels; indices of 32 bits are enough for most.
// CHECK: gpu.module @narrow
// CHECK: gpu.func @small(%{{.*}}: memref<64xf32> {llvm.align = 16 : i64, llvm.noalias})
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<32xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: kernel
// CHECK-SAME: known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 2, 1, 1>
// CHECK: memref.store %{{.*}}, %[[SHARED]]
// CHECK: gpu.return
// CHECK: gpu.module @wide
// CHECK: gpu.func @large(
func.func private @small(%x: memref<64xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  %shared = memref.alloc() : memref<32xf32, #gpu.address_space<workgroup>>
  %i = gpu.thread_id x
  %0 = memref.load %x[%i] : memref<64xf32>
  memref.store %0, %shared[%i] : memref<32xf32, #gpu.address_space<workgroup>>
  return
}
func.func private @large(%x: memref<2000000000xi8>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  return
}

// -----

// More than eight are cut into modules of about one size; each has the tables that it reads.
// CHECK: gpu.module @narrow {
// CHECK-NEXT: memref.global {{.*}}@table
// CHECK-COUNT-4: gpu.func @k{{[0-3]}}(
// CHECK-NOT: gpu.func
// CHECK: gpu.module @narrow_1 {
// CHECK-NEXT: memref.global {{.*}}@table
// CHECK-COUNT-5: gpu.func @k{{[4-8]}}(
// CHECK-NOT: gpu.func
memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
func.func private @k0(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  return
}
func.func private @k1(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  return
}
func.func private @k2(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  return
}
func.func private @k3(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  %table = memref.get_global @table : memref<2xf32>
  return
}
func.func private @k4(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  return
}
func.func private @k5(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  return
}
func.func private @k6(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  return
}
func.func private @k7(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  return
}
func.func private @k8(%x: memref<4xf32>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>} {
  %table = memref.get_global @table : memref<2xf32>
  return
}
