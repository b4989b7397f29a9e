// RUN: gantry-opt %s --gantry-outline-gpu-kernels | FileCheck %s

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
