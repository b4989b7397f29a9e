// RUN: gantry-opt %s -split-input-file --gantry-elide-copies | FileCheck %s -enable-var-scope

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// A copy to where the value is, and one there and back, are the value; a forced one stays.
// CHECK-LABEL: func.func @elided
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = gantry.relu %[[X]]
// CHECK-NEXT: %[[OWN:.*]] = gantry.copy %[[A]] to "{{.*}}GPU:0" force
// CHECK-NEXT: return %[[A]], %[[A]], %[[OWN]]
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @elided(%x: tensor<4xf32> {gantry.device = #gpu0}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %same = gantry.copy %a to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
    %away = gantry.copy %a to "/job:localhost/replica:0/task:0/device:CPU:0" : tensor<4xf32>
    %back = gantry.copy %away to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
    %own = gantry.copy %a to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<4xf32>
    return %same, %back, %own : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// A stop on the way that nothing else uses is left out; one that is used is a stop.
// CHECK-LABEL: func.func @copies_of_copies
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[X1:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:1"
// CHECK-NEXT: %[[Y0:.*]] = gantry.copy %[[Y]] to "{{.*}}GPU:0"
// CHECK-NEXT: %[[Y1:.*]] = gantry.copy %[[Y0]] to "{{.*}}GPU:1"
// CHECK-NEXT: return %[[X1]], %[[Y0]], %[[Y1]]
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @copies_of_copies(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %x0 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
    %x1 = gantry.copy %x0 to "/job:localhost/replica:0/task:0/device:GPU:1" : tensor<4xf32>
    %y0 = gantry.copy %y to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
    %y1 = gantry.copy %y0 to "/job:localhost/replica:0/task:0/device:GPU:1" : tensor<4xf32>
    return %x1, %y0, %y1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
