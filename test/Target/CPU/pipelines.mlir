// From a kernel of gantry ops to loops over buffers, and on to the LLVM dialect.

// RUN: gantry-opt %s --gantry-kernel-pipeline | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor. --implicit-check-not=memref.alloc() --implicit-check-not=memref.copy
// RUN: gantry-opt %s --gantry-kernel-pipeline --gantry-llvm-pipeline | FileCheck %s --check-prefix=LLVM --implicit-check-not=malloc --implicit-check-not=memcpy --implicit-check-not=unrealized_conversion_cast

// A kernel knows its work items and takes a range of them.
// CHECK-LABEL: func.func private @epilogue(
// CHECK-SAME: %{{[a-z0-9]*}}: index, %{{[a-z0-9]*}}: index)
// CHECK-SAME: gantry.work = #gantry.work<items = {{[0-9]+}}
// CHECK: scf.for
// CHECK: call @gantry_tile_f32_8x48_0(
// CHECK: math.tanh
// CHECK: return

// Pointers to the buffers, then the range.
// LLVM-LABEL: llvm.func @epilogue(
// LLVM-SAME: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}
// LLVM-SAME: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}
// LLVM-SAME: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}
// LLVM-SAME: i64, %{{[a-z0-9]*}}: i64)
gantry.kernel @epilogue {
^bb0(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>):
  %0 = gantry.matmul %x, %w : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %1 = gantry.tanh %0 : (tensor<64x48xf32>) -> tensor<64x48xf32>
  gantry.yield %1 : tensor<64x48xf32>
}

// CHECK-LABEL: func.func private @softmax(
// CHECK-SAME: gantry.work = #gantry.work<items = {{[0-9]+}}
// CHECK: math.exp
// Without a call for each exponential.
// LLVM-LABEL: llvm.func @softmax(
// LLVM-NOT: llvm.call @
gantry.kernel @softmax {
^bb0(%x: tensor<64x100xf32>):
  %0 = gantry.softmax %x {axis = 1 : i64} : (tensor<64x100xf32>) -> tensor<64x100xf32>
  gantry.yield %0 : tensor<64x100xf32>
}

// Nothing is kept of a row but two numbers, so that the result may lie in the place of the operand; an item is a row, or
// a few.
// CHECK-LABEL: func.func private @log_softmax(
// CHECK-SAME: gantry.work = #gantry.work<items = 64, in_place = [0]>
// CHECK: math.exp
// CHECK: math.log
gantry.kernel @log_softmax attributes {gantry.work = #gantry.work<in_place = [0]>} {
^bb0(%x: tensor<64x50257xf32>):
  %0 = gantry.log_softmax %x {axis = 1 : i64} : (tensor<64x50257xf32>) -> tensor<64x50257xf32>
  gantry.yield %0 : tensor<64x50257xf32>
}

// bf16 has no instructions of its own here: it is widened and rounded.
// CHECK-LABEL: func.func private @bf16(
// LLVM-LABEL: llvm.func @bf16(
// LLVM: llvm.return
gantry.kernel @bf16 {
^bb0(%x: tensor<64xbf16>, %y: tensor<64xbf16>):
  %0 = gantry.mul %x, %y : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  gantry.yield %0 : tensor<64xbf16>
}
