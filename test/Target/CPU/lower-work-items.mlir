// RUN: gantry-opt %s --gantry-lower-work-items --canonicalize | FileCheck %s

// The loop over items becomes one over the range that the caller gives.
// CHECK-LABEL: @one_dimension(
// CHECK-SAME: %[[X:.*]]: memref<64xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-SAME: gantry.work = #gantry.work<items = 16>
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
// CHECK: scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]] step %[[C1]] {
// CHECK:   %[[AT:.*]] = arith.muli %[[I]], %[[C4]]
// CHECK:   memref.load %[[X]][%[[AT]]]
func.func private @one_dimension(%x: memref<64xf32>) {
  scf.forall (%i) = (0) to (64) step (4) {
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %x[%i] : memref<64xf32>
  }
  return
}

// Items of two dimensions are numbered row by row.
// CHECK-LABEL: @two_dimensions(
// CHECK-SAME: gantry.work = #gantry.work<items = 32>
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
// CHECK: scf.for %[[I:.*]] =
// CHECK:   %[[ROW:.*]] = arith.divui %[[I]], %[[C4]]
// CHECK:   %[[REST:.*]] = arith.remui %[[I]], %[[C4]]
// CHECK:   %[[COLUMN:.*]] = arith.muli %[[REST]]
// CHECK:   memref.load %{{.*}}[%[[ROW]], %[[COLUMN]]]
func.func private @two_dimensions(%x: memref<8x64xf32>) {
  scf.forall (%i, %j) = (0, 0) to (8, 64) step (1, 16) {
    %v = memref.load %x[%i, %j] : memref<8x64xf32>
    memref.store %v, %x[%i, %j] : memref<8x64xf32>
  }
  return
}

// A kernel that must run as one is one item, which does everything.
// CHECK-LABEL: @serial(
// CHECK-SAME: gantry.work = #gantry.work<items = 1>
// CHECK-NOT: serial =
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[C64]]
func.func private @serial(%x: memref<64xf32>) attributes {gantry.work = #gantry.work<serial = true>} {
  scf.forall (%i) in (64) {
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %x[%i] : memref<64xf32>
  }
  return
}

// Two loops one after the other cannot be cut into ranges at the same time.
// CHECK-LABEL: @two_loops(
// CHECK-SAME: gantry.work = #gantry.work<items = 1>
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.forall
// CHECK: return
func.func private @two_loops(%x: memref<64xf32>, %y: memref<64xf32>) {
  scf.forall (%i) in (64) {
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %y[%i] : memref<64xf32>
  }
  scf.forall (%i) in (64) {
    %v = memref.load %y[%i] : memref<64xf32>
    memref.store %v, %x[%i] : memref<64xf32>
  }
  return
}

// Without a loop there is one item.
// CHECK-LABEL: @no_loop(
// CHECK-SAME: %{{.*}}: memref<f32>, %{{.*}}: index, %{{.*}}: index)
// CHECK-SAME: gantry.work = #gantry.work<items = 1>
func.func private @no_loop(%x: memref<f32>) {
  %v = memref.load %x[] : memref<f32>
  memref.store %v, %x[] : memref<f32>
  return
}
