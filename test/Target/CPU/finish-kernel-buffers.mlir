// RUN: gantry-opt %s --gantry-finish-kernel-buffers="max-stack=1024" | FileCheck %s

// Small buffers go to the stack, at the top of the function: in a loop it would grow at each step.
// CHECK-LABEL: @small(
// CHECK-NEXT: memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func private @small(%x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %t = memref.alloc() : memref<16xf32>
    linalg.copy ins(%x : memref<16xf32>) outs(%t : memref<16xf32>)
    linalg.copy ins(%t : memref<16xf32>) outs(%x : memref<16xf32>)
    memref.dealloc %t : memref<16xf32>
  }
  return
}

// Large ones share one scratch argument, whose size is recorded in bytes, rounded up to 64.
// CHECK-LABEL: @large(
// CHECK-SAME: %[[S:[a-z0-9]*]]: memref<8256xi8> {llvm.align = 64 : i64, llvm.noalias})
// CHECK-SAME: gantry.work = #gantry.work<scratch = 8256, serial = true>
// CHECK: %[[AT0:.*]] = arith.constant 0 : index
// CHECK: memref.view %[[S]][%[[AT0]]][] : memref<8256xi8> to memref<1024xf32>
// CHECK: %[[AT1:.*]] = arith.constant 4096 : index
// CHECK: memref.view %[[S]][%[[AT1]]][] : memref<8256xi8> to memref<1028xf32>
// CHECK-NOT: memref.alloc
// CHECK: return
func.func private @large(%x: memref<1028xf32>, %y: memref<1024xf32>) {
  %b = memref.alloc() : memref<1024xf32>
  %a = memref.alloc() : memref<1028xf32>
  linalg.copy ins(%x : memref<1028xf32>) outs(%a : memref<1028xf32>)
  linalg.copy ins(%a : memref<1028xf32>) outs(%x : memref<1028xf32>)
  linalg.copy ins(%y : memref<1024xf32>) outs(%b : memref<1024xf32>)
  linalg.copy ins(%b : memref<1024xf32>) outs(%y : memref<1024xf32>)
  return
}

// Copies become loops, never calls of memcpy; a copy onto itself is nothing.
// CHECK-LABEL: @copies(
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref.copy
// CHECK: return
func.func private @copies(%x: memref<16xf32>, %y: memref<16xf32>) {
  memref.copy %x, %y : memref<16xf32> to memref<16xf32>
  memref.copy %x, %x : memref<16xf32> to memref<16xf32>
  return
}

// Work beside the work items would be done by every range of them: the kernel runs as one.
// CHECK-LABEL: @works_outside(
// CHECK-SAME: gantry.work = #gantry.work<serial = true>
func.func private @works_outside(%x: memref<16xf32>, %y: memref<16xf32>) {
  memref.copy %x, %y : memref<16xf32> to memref<16xf32>
  scf.forall (%i) in (16) {
    %v = memref.load %y[%i] : memref<16xf32>
    memref.store %v, %x[%i] : memref<16xf32>
  }
  return
}

// So it does when items would share a scratch buffer.
// CHECK-LABEL: @shared_scratch(
// CHECK-SAME: gantry.work = #gantry.work<scratch = 4096, serial = true>
func.func private @shared_scratch(%x: memref<1024xf32>) {
  scf.forall (%i) in (4) {
    %t = memref.alloc() : memref<1024xf32>
    linalg.copy ins(%x : memref<1024xf32>) outs(%t : memref<1024xf32>)
    linalg.copy ins(%t : memref<1024xf32>) outs(%x : memref<1024xf32>)
  }
  return
}

// Work items alone can run on many threads.
// CHECK-LABEL: @items_only(
// CHECK-NOT: serial =
// CHECK: scf.forall
func.func private @items_only(%x: memref<16xf32>) {
  scf.forall (%i) in (16) {
    %v = memref.load %x[%i] : memref<16xf32>
    memref.store %v, %x[%i] : memref<16xf32>
  }
  return
}
